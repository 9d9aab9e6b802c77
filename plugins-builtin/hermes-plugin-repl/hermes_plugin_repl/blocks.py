"""Cuts a Markdown text that is still growing into blocks that are finished.

A block is what can be drawn for good: a paragraph, a heading, an item of a list with what is in it, a
table, a line of a code block. What comes later never changes a finished one, so each is drawn once.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

import msgspec

Kind: TypeAlias = Literal["text", "item", "code"]

LONGEST: Final = 200
"""Lines after which a block is taken as finished, so that one that never ends stays cheap."""
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*$")
_HEADING: Final = re.compile(r" {0,3}#{1,6}(\s|$)")
_ITEM: Final = re.compile(r"( {0,3})([-*+]|\d{1,9}[.)])\s")


class Block(msgspec.Struct, frozen=True):
    """A finished block. ``gap`` says that a blank line stands before it; of code, ``language``."""

    kind: Kind
    text: str
    gap: bool = True
    language: str = ""


class Blocks:
    """A growing text. Give it pieces; take blocks."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._lines: list[str] = []
        self._rest = ""
        self._fence = ""
        self._language = ""
        self._blank = True
        self._last: Kind = "text"

    @property
    def open(self) -> str:
        """The end of what is not finished yet: at most 12 lines."""
        return "\n".join([*self._lines[-11:], self._rest]).strip("\n")

    @property
    def is_tight(self) -> bool:
        """True where no blank line will stand before the open block."""
        return bool(self._fence) and self._last == "code" and not self._blank

    def feed(self, piece: str) -> list[Block]:
        """More text; the blocks that it finishes."""
        *lines, self._rest = (self._rest + piece).split("\n")
        found: list[Block] = []
        for line in lines:
            self._line(line.rstrip("\r"), found)
        return found

    def end(self) -> list[Block]:
        """The text is over; what was left."""
        found: list[Block] = []
        if self._rest:
            self._line(self._rest, found)
        self._finish(found)
        self._begin()
        return found

    def _line(self, line: str, found: list[Block]) -> None:
        if self._fence:
            self._code(line, found)
        elif fence := _FENCE.match(line):
            self._finish(found)
            self._fence, self._language = fence[1], fence[2]
        elif not line.strip():
            self._blank_line(found)
        else:
            self._text(line, found)

    def _code(self, line: str, found: list[Block]) -> None:
        bare = line.strip()
        if bare.startswith(self._fence) and not bare.strip(self._fence[0]):
            self._fence, self._blank = "", True
            return
        found.append(
            Block("code", line, gap=self._blank or self._last != "code", language=self._language)
        )
        self._last, self._blank = "code", False

    def _blank_line(self, found: list[Block]) -> None:
        in_item = self._lines and _ITEM.match(self._lines[0])
        if not in_item:
            self._finish(found)
            self._blank = True
        elif self._lines[-1]:
            self._lines.append("")  # more of the item may follow

    def _text(self, line: str, found: list[Block]) -> None:
        in_item = bool(self._lines and _ITEM.match(self._lines[0]))
        if self._lines and (
            _HEADING.match(line)
            or self._begins_item(line)
            or (in_item and not self._lines[-1] and not line.startswith((" ", "\t")))
            or len(self._lines) >= LONGEST
        ):
            blank = not self._lines[-1]
            self._finish(found)
            self._blank = blank
        self._lines.append(line)
        if _HEADING.match(line):
            self._blank = True
            self._finish(found)
            self._blank = True

    def _begins_item(self, line: str) -> bool:
        """True for an item that is not inside the open one."""
        found, first = _ITEM.match(line), _ITEM.match(self._lines[0])
        if found is None:
            return False
        if first is None:
            return "|" not in self._lines[-1]
        return len(found[1]) < len(first[0])

    def _finish(self, found: list[Block]) -> None:
        text = "\n".join(self._lines).strip("\n")
        self._lines = []
        if not text:
            return
        kind: Kind = "item" if _ITEM.match(text) else "text"
        tight = kind == "item" == self._last and not self._blank
        found.append(Block(kind, text, gap=not tight))
        self._last, self._blank = kind, False
