"""A policy: asks before anything that names something precious, and keeps the main branch safe."""

from __future__ import annotations

from typing import Annotated

from hermes_plugins import (
    Allow,
    Ask,
    CallView,
    ConfigSection,
    Decision,
    Deny,
    Host,
    Meta,
    Section,
    hookimpl,
)


class Settings(Section, frozen=True, kw_only=True):
    """Section ``plugins.careful``."""

    words: Annotated[
        tuple[str, ...],
        Meta(description="ask about calls that touch one of these", extra={"project": True}),
    ] = ("production",)


@hookimpl
async def hermes_before_tool_call(host: Host, call: CallView) -> Decision:
    """Judge one call. It sees the final arguments, and effects with canonical paths."""
    effects = call.effects
    if any("push" in line and "--force" in line for line in effects.runs):
        return Deny("a forced push can lose the work of others; nothing was done.")
    touched = (*effects.runs, *effects.writes, *effects.sends)
    for word in host.section(Settings).words:
        if any(word in target for target in touched):
            return Ask(f"this touches {word}")
    return Allow()


@hookimpl
def hermes_register_config() -> list[ConfigSection]:
    """The words."""
    return [ConfigSection(name="careful", schema=Settings)]
