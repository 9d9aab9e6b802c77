"""How findings look: lines for a person, JSON for a program."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

import msgspec

from hermes_plugins import CommandHost, Finding

WIDTH: Final = 14
"""Characters of the longest title."""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """A finding, and what ``--fix`` did about it: ``mended`` says what, or ``failed`` why not."""

    finding: Finding
    mended: str = ""
    failed: str = ""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What one group of checks found."""

    id: str
    title: str
    found: tuple[Done, ...]

    @property
    def left(self) -> list[Finding]:
        """What was not mended."""
        return [one.finding for one in self.found if not one.mended]


def lines(part: Part, *, width: int = 0) -> str:
    """The part for a person: its title once, then a line a finding, and below it what mends it.

    ``width`` is that of the terminal; 0 leaves lines as long as they are.
    """
    told = []
    title = part.title
    for one in part.found:
        level = "fixed" if one.mended else one.finding.level
        told.append(f"{title:<{WIDTH}} {level:<5} {_indented(one.finding.text, width)}")
        title = ""
        notes = [one.mended, f"Not mended: {one.failed}" if one.failed else ""]
        if not one.mended:
            notes.append(one.finding.hint)
        told += [f"{'':<{WIDTH + 7}}{_indented(note, width)}" for note in notes if note]
    return "\n".join(told)


def _indented(text: str, width: int) -> str:
    indent = " " * (WIDTH + 7)
    lines = text.strip().splitlines()
    if width > 2 * len(indent):
        folded = textwrap.TextWrapper(
            width=width - len(indent) - 1, break_long_words=False, break_on_hyphens=False
        )
        lines = [piece for line in lines for piece in folded.wrap(line)]
    return f"\n{indent}".join(lines)


def closing(parts: Sequence[Part], *, fix: bool) -> str:
    """The last line: how it stands, and what to do."""
    left = [one for part in parts for one in part.left]
    mended = sum(bool(one.mended) for part in parts for one in part.found)
    broken = sum(one.level == "fail" for one in left)
    doubtful = sum(one.level == "warn" for one in left)
    counts = [
        _count(broken, "does not work", "do not work"),
        _count(doubtful, "is not as it should be", "are not as they should be"),
    ]
    said = ", ".join(filter(None, counts)) or "nothing is wrong"
    done = f"{mended} mended; " if mended else ""
    can = sum(one.fix is not None and one.level != "ok" for one in left)
    more = f" `hermes doctor --fix` mends {can} of them." if can and not fix else ""
    return f"\n{done}{said}.{more}".replace("\nn", "\nN", 1)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}" if number else ""


def as_data(host: CommandHost, parts: Sequence[Part]) -> str:
    """Everything as JSON."""
    whole = {
        "v": 1,
        "version": host.version,
        "home": str(host.paths.home),
        "works": not any(one.level == "fail" for part in parts for one in part.left),
        "parts": [
            {
                "id": part.id,
                "title": part.title,
                "findings": [
                    {
                        "level": one.finding.level,
                        "text": one.finding.text,
                        "hint": one.finding.hint,
                        "can_be_mended": one.finding.fix is not None,
                        "mended": one.mended,
                        "not_mended": one.failed,
                    }
                    for one in part.found
                ],
            }
            for part in parts
        ],
    }
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode()
