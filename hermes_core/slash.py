"""Slash commands: telling one from a message, finding it, running it.

Every face comes through `run_line`; what the commands do stands in ``slash_commands.py``. A command
changes its face only through the `SlashContext`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from hermes_plugins._errors import HermesError
from hermes_plugins._faces import SlashCommand, SlashContext

_LINE: Final = re.compile(r"\s*/([A-Za-z?][\w-]*)(?:\s+(.*))?\s*", re.DOTALL)


def parse(line: str) -> tuple[str, str] | None:
    """Name and rest of a slash line; None for a message, such as one that begins with a path."""
    found = _LINE.fullmatch(line)
    return (found[1].lower(), (found[2] or "").strip()) if found else None


async def run_line(context: SlashContext, line: str) -> str | None:
    """See the kit's `FaceHost.command`."""
    parsed = parse(line)
    if parsed is None:
        return None
    name, rest = parsed
    commands = context.face.commands()
    found = next((one for one in commands if name in (one.name, *one.aliases)), None)
    if found is None:
        return unknown(name, commands)
    try:
        return await found.run(context, rest)
    except HermesError as error:
        said = error.message[:1].upper() + error.message[1:]
        return "\n".join(filter(None, (said, error.hint)))


def unknown(name: str, commands: Sequence[SlashCommand]) -> str:
    """What to say to a name that no command has."""
    from difflib import get_close_matches

    names = [label for one in commands for label in (one.name, *one.aliases)]
    begun = sorted(one for one in names if one.startswith(name))
    close = begun[:3] or get_close_matches(name, names, n=1)
    guess = f" Did you mean {' or '.join(f'/{one}' for one in close)}?" if close else ""
    return f"There is no command /{name}.{guess or ' /help lists them.'}"
