"""Toolsets by face: what the settings give, why something is off, and writing ``toolsets.by_face``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

import msgspec

from hermes_plugins import CommandHost, ToolsetState, UsageError

_FACE: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class Faces:
    """``toolsets.by_face``, seen from one face.

    Raises:
        UsageError: that is no name of a face, or the settings are broken.
    """

    def __init__(self, host: CommandHost, face: str) -> None:
        if not _FACE.fullmatch(face):
            raise UsageError(f"{face!r} is no face.", hint="Such as cli, api-server, irc or cron.")
        self.face = face
        self._settings = host.settings
        value = host.settings.get("toolsets.by_face").value
        self._listed: dict[str, list[str]] = {
            str(name): [str(one) for one in names]
            for name, names in (value.items() if isinstance(value, Mapping) else ())
            if isinstance(names, list | tuple)
        }

    @property
    def has_own(self) -> bool:
        """Whether the face has a list; else it has that of cli."""
        return self.face in self._listed

    @property
    def others(self) -> list[str]:
        """Faces with a list of their own."""
        return sorted(set(self._listed) - {self.face})

    @property
    def listed(self) -> list[str]:
        """The list that counts."""
        return self._listed.get(self.face, self._listed.get("cli", []))

    def gets(self, state: ToolsetState) -> bool:
        """Whether sessions of the face get a toolset, were its plugin on."""
        if not state.builtin and f"-{state.name}" not in self.listed:
            return True
        return state.name in self.listed or (self.has_own and self.face in state.faces)

    def write(self, state: ToolsetState, *, on: bool) -> str:
        """Switch it; the file that was written."""
        kept = [one for one in self.listed if one not in (state.name, f"-{state.name}")]
        if on and state.builtin:
            kept.append(state.name)
        elif not on and not state.builtin:
            kept.append(f"-{state.name}")
        file = self._settings.set(f"toolsets.by_face.{self.face}", kept)
        self._listed[self.face] = kept
        return str(file)


async def read(host: CommandHost) -> Sequence[ToolsetState]:
    """Every installed toolset."""
    async with host.open() as face:
        return await face.catalog.toolsets()


def lines(faces: Faces, states: Sequence[ToolsetState], *, numbered: bool = False) -> Iterator[str]:
    """The list for a person."""
    own = "" if faces.has_own else ", which has no list of its own and gets that of cli"
    yield f"Toolsets on {faces.face}{own}:"
    width = max((len(one.name) for one in states), default=0)
    for number, state in enumerate(states, 1):
        given = faces.gets(state)
        box = "[x]" if given and not state.off else "[-]" if given else "[ ]"
        head = f"{number:>3} {box}" if numbered else f"  {box}"
        names = ", ".join(tool.name for tool in state.tools)
        why = f"its plugin {state.plugin} is {state.off}" if state.off else ""
        yield f"{head} {state.name:<{width}}  {names or why}".rstrip()
        indent = " " * (len(head) + width + 3)
        if names and why:
            yield f"{indent}{why}"
        for tool in state.tools:
            if tool.off and not state.off:
                yield f"{indent}{tool.name} is off: {tool.off}"
    if not states:
        yield "  none is installed: `pip install 'hermes-host[default]'` brings the usual ones."
    if faces.others:
        yield f"Other faces with a list: {', '.join(faces.others)} (--face)."


def switch(faces: Faces, states: Sequence[ToolsetState], name: str, *, on: bool) -> str:
    """Write it; returns what was done.

    Raises:
        UsageError: there is no such toolset, its plugin is off, or the file cannot be written.
    """
    known = {one.name: one for one in states}
    state = known.get(name)
    if state is None:
        owner = [one.name for one in states if any(tool.name == name for tool in one.tools)]
        close = owner or get_close_matches(name, known, n=1, cutoff=0.6)
        hint = f"Did you mean {close[0]}?" if close else "`hermes tools list` shows them."
        if owner:
            hint = f"It is a tool of {owner[0]}; tools.blocked can leave out a single one."
        raise UsageError(f"there is no toolset {name!r}.", hint=hint)
    if on and state.off:
        raise UsageError(
            f"the plugin of {name} is {state.off.partition(';')[0]}.",
            hint=f"`hermes plugins enable {state.plugin}` first.",
        )
    if faces.gets(state) == on:
        return f"{name} is {'on' if on else 'off'} for {faces.face} already."
    if not on and name not in faces.listed and state.builtin:
        raise UsageError(
            f"{name} comes to {faces.face} with a named set of toolsets.",
            hint=f"`hermes config get toolsets.by_face.{faces.face}` shows it; take it out there.",
        )
    file = faces.write(state, on=on)
    return f"{name} is {'on' if on else 'off'} for {faces.face}, from the next session on ({file})."


def as_data(faces: Faces, states: Sequence[ToolsetState]) -> str:
    """The list as JSON."""
    whole = {
        "v": 1,
        "face": faces.face,
        "toolsets": [
            {
                "name": one.name,
                "plugin": one.plugin,
                "on": faces.gets(one) and not one.off,
                "why_off": _why_off(faces, one),
                "tools": [
                    {"name": tool.name, "description": tool.description, "why_off": tool.off}
                    for tool in one.tools
                ],
            }
            for one in states
        ],
    }
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode()


def _why_off(faces: Faces, state: ToolsetState) -> str:
    if state.off:
        return f"its plugin is {state.off}"
    return "" if faces.gets(state) else f"not in toolsets.by_face.{faces.face}"
