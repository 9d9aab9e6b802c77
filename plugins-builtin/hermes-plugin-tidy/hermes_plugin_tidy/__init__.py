"""Tidies paths that models write and output that commands print. The work stands in ``tidying.py``."""

from __future__ import annotations

from typing import Annotated

from hermes_plugins import CallView, ConfigSection, Host, Json, Meta, Section, hookimpl


class Tidy(Section, frozen=True, kw_only=True):
    """Section ``plugins.tidy``."""

    fold_after: Annotated[
        int, Meta(ge=1, description="Equal lines in a row that are shown before they are counted")
    ] = 3


@hookimpl
async def hermes_transform_tool_call(arguments: dict[str, Json]) -> dict[str, Json]:
    """Make the paths that were meant of quoted ones and file addresses."""
    from . import tidying

    return {name: tidying.tidy_argument(name, value) for name, value in arguments.items()}


@hookimpl
async def hermes_transform_tool_result(host: Host, text: str, call: CallView) -> str:
    """Shorten what a command printed; what was read stays as it is."""
    if not call.effects.runs:
        return text
    from . import tidying

    return tidying.tidy_output(text, fold_after=host.section(Tidy).fold_after)


@hookimpl
def hermes_register_config() -> list[ConfigSection]:
    """How much is folded."""
    return [ConfigSection(name="tidy", schema=Tidy)]
