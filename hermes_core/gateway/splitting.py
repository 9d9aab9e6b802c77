"""Cutting an answer into messages that a platform takes.

Cuts fall between lines, else between words, else anywhere but inside a character; a code fence that a
cut falls into is closed before it and opened again behind it. Every cut takes at least one character,
so it always ends.
"""

from __future__ import annotations

import re
from typing import Final
from unicodedata import combining

from hermes_plugins._platforms import Limits

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)$")
_JOINERS: Final = frozenset("\u200d\ufe0e\ufe0f")
_SPACE_WITHIN: Final = 0.5
"""A cut goes back to a space, unless more than this part of the room would stay empty."""


def split(text: str, limits: Limits) -> list[str]:
    """The messages, in order; none of an empty text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode()
    if limits.single_line:
        return [piece for line in text.split("\n") for piece in _pieces(line.rstrip(), limits)]
    return [part for part in _Splitter(limits).parts(text) if part.strip()]


def size(text: str, unit: str) -> int:
    """How long a text is, in ``characters``, ``utf16`` units or ``bytes`` of UTF-8."""
    if unit == "bytes":
        return len(text.encode("utf-8"))
    if unit == "utf16":
        return len(text.encode("utf-16-le")) // 2
    return len(text)


def _pieces(line: str, limits: Limits) -> list[str]:
    found = []
    while line.strip():
        head, line = _cut(line, limits.text, limits.unit)
        found.append(head)
    return found


class _Splitter:
    """One text; ``_part`` is the message that grows, ``_fence`` the fence that is open in it."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._done: list[str] = []
        self._part: list[str] = []
        self._used = 0
        self._fence = ""

    def parts(self, text: str) -> list[str]:
        for line in text.split("\n"):
            self._add(line)
        self._done.append("\n".join(self._part).strip("\n"))
        return self._done

    def _add(self, line: str) -> None:
        after = self._fence_after(line)
        if self._fits(line, after):
            self._take(line)
        else:
            if self._has_content():
                self._break()
            if self._fence and not after and not self._has_content():
                self._part, self._used = [], 0  # it was closed before the cut
            else:
                self._take(self._shortened(line, after))
        self._fence = after

    def _shortened(self, line: str, after: str) -> str:
        """What is left of a line that is too long for any message."""
        while not self._fits(line, after):
            room = self._limits.text - self._used - bool(self._part) - self._closing(self._fence)
            head, line = _cut(line, room, self._limits.unit)
            self._take(head)
            self._break()
        return line

    def _fits(self, line: str, fence: str) -> bool:
        used = self._used + bool(self._part) + self._size(line)
        return used + self._closing(fence) <= self._limits.text or not line

    def _take(self, line: str) -> None:
        self._used += bool(self._part) + self._size(line)
        self._part.append(line)

    def _break(self) -> None:
        """The message is full."""
        lines = [*self._part, _mark(self._fence)] if self._fence else self._part
        self._done.append("\n".join(lines).strip("\n"))
        self._part = [self._fence] if self._fence else []
        self._used = self._size(self._fence)

    def _has_content(self) -> bool:
        return bool(self._part) and self._part != [self._fence]

    def _fence_after(self, line: str) -> str:
        """The line that opened the fence which is open behind ``line``; "" outside of any."""
        found = _FENCE.match(line)
        if found is None:
            return self._fence
        mark, info = found.groups()
        if self._fence:
            own = _mark(self._fence)
            closes = mark[0] == own[0] and len(mark) >= len(own) and not info.strip()
            return "" if closes else self._fence
        # Too little room to repeat it in every message: then it is text like any other.
        overhead = 2 * self._size(line) + 2
        return line if overhead * 2 <= self._limits.text else ""

    def _closing(self, fence: str) -> int:
        return self._size(_mark(fence)) + 1 if fence else 0

    def _size(self, text: str) -> int:
        return size(text, self._limits.unit)


def _mark(fence: str) -> str:
    """The backticks or tildes of an opening line."""
    found = _FENCE.match(fence)
    return found.group(1) if found else ""


def _cut(line: str, room: int, unit: str) -> tuple[str, str]:
    """The longest beginning that fits, at least one character, and the rest."""
    if size(line, unit) <= room:
        return line, ""
    end, used = 0, 0
    for character in line:
        used += size(character, unit)
        if used > room and end:
            break
        end += 1
    while end > 1 and end < len(line) and _belongs_together(line[end - 1], line[end]):
        end -= 1
    space = line.rfind(" ", 0, end + 1)
    if space > end * _SPACE_WITHIN:
        return line[:space], line[space + 1 :]
    return line[:end], line[end:]


def _belongs_together(left: str, right: str) -> bool:
    return left == "\u200d" or right in _JOINERS or combining(right) > 0
