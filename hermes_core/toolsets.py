"""Toolsets: which tools a session gets.

A toolset is a name: of an entry point in ``hermes.tools``, or of a set in ``toolsets`` of hermes.yaml
that lists ``tools`` and ``includes``. Sets nest; a circle is an error that shows itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from hermes_plugins._errors import UsageError


class ToolsetSettings(msgspec.Struct, frozen=True, kw_only=True):
    """A named set of hermes.yaml."""

    includes: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """What a choice of toolsets comes to: installed toolsets whole, and single tools by name."""

    toolsets: tuple[str, ...]
    tools: frozenset[str] = frozenset()


def face_toolsets(
    by_face: Mapping[str, Sequence[str]], face: str
) -> tuple[tuple[str, ...], frozenset[str]]:
    """What ``toolsets.by_face`` gives a face, and what it leaves out.

    A face without a list has that of cli; an empty list is no toolsets. ``-NAME`` leaves out a toolset
    that every face gets otherwise, because its plugin is not built in and was switched on.
    """
    listed = by_face.get(face, by_face.get("cli", ()))
    given = tuple(name for name in listed if not name.startswith("-"))
    return given, frozenset(name[1:] for name in listed if name.startswith("-"))


def select(
    names: Iterable[str],
    *,
    named: Mapping[str, ToolsetSettings],
    installed: Collection[str],
    off: Mapping[str, str] = {},
) -> Selection:
    """Resolve names to installed toolsets and single tools. ``off`` says why others are not on.

    Raises:
        UsageError: a name is neither installed nor a named set, or sets include each other.
    """
    toolsets: dict[str, None] = {}
    tools: set[str] = set()

    def add(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            circle = " -> ".join((*path[path.index(name) :], name))
            raise UsageError(f"toolsets include each other: {circle}.")
        if name in named:
            tools.update(named[name].tools)
            for included in named[name].includes:
                add(included, (*path, name))
        elif name in installed:
            toolsets[name] = None
        elif name in off:
            raise UsageError(f"toolset {name} is {off[name]}")
        else:
            raise UsageError(
                f"no toolset {name!r} is installed{_guess(name, [*installed, *named])}.",
                hint="`hermes plugins list` shows what is there.",
            )

    for name in names:
        add(name, ())
    return Selection(toolsets=tuple(toolsets), tools=frozenset(tools))


def _guess(name: str, known: Collection[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""
