"""A policy: calls that only read may run, everything else is denied.

It judges declared effects, so it holds for every tool, whoever wrote it; a tool that does not say what
it touches is denied too. It is no boundary: a command on the allow list may do more than its name says.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated

from hermes_plugins import (
    Allow,
    CallView,
    ConfigSection,
    Decision,
    Deny,
    Effects,
    Host,
    Meta,
    Section,
    hookimpl,
)


class ReadOnly(Section, frozen=True, kw_only=True):
    """Section ``plugins.read-only``."""

    allow_commands: Annotated[
        tuple[str, ...],
        Meta(description="Globs of whole commands that may run, such as `git log*`"),
    ] = ()


# With any of these a line is more than the one command that the glob's author had in mind.
_OPERATORS = frozenset(";&|<>`$(){}\n\r\0")


@hookimpl
async def hermes_before_tool_call(host: Host, call: CallView) -> Decision:
    """Allow what only reads, and commands that the settings name."""
    effects = call.effects
    if effects.only_reads:
        return Allow()
    allowed = host.section(ReadOnly).allow_commands
    only_runs = effects.runs and not (effects.writes or effects.sends or effects.unknown)
    if only_runs and all(_matches(command, allowed) for command in effects.runs):
        return Allow()
    return Deny(
        f"this session is read-only, and {call.tool} would {_what(effects)}. Nothing was done. "
        "Do not look for another way; tell the person what you would have done."
    )


def _matches(command: str, globs: tuple[str, ...]) -> bool:
    plain = command.strip()
    return not _OPERATORS & set(plain) and any(fnmatchcase(plain, glob) for glob in globs)


def _what(effects: Effects) -> str:
    if effects.unknown:
        return "do something it does not declare"
    for verb, targets in (("change", effects.writes), ("run", effects.runs)):
        if targets:
            return f"{verb} {targets[0][:200]}"
    return f"send to {effects.sends[0][:200]}"


@hookimpl
def hermes_register_config() -> list[ConfigSection]:
    """The allow list."""
    return [ConfigSection(name="read-only", schema=ReadOnly)]
