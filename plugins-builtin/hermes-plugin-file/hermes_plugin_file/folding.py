"""A text with differences of form folded away, and the way back to the original offsets.

Three things can be folded: line ends to LF; spaces and tabs at line ends to nothing; and look-alike
characters (spaces, quotes, dashes, composed and decomposed letters) to one of them.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final

_SPACES: Final = "\u00a0\u2000-\u200a\u202f\u205f\u3000"
_LOOK_ALIKE: Final = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    "\u2026": "...",
}
_SPACE: Final = f"[{_SPACES}]"
# With the ASCII letter in front, because a combining accent may follow it.
_FOREIGN: Final = rf"[!-~]?[^\x00-\x7f{_SPACES}]+"


class Folded:
    """``text`` is the folded form; `start` and `end` lead from its offsets to the original's."""

    def __init__(self, original: str, edits: Iterator[tuple[int, int, str]]) -> None:
        self.original = original
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._original: list[tuple[int, int]] = []
        parts: list[str] = []
        done = length = 0
        for start, end, replacement in edits:
            parts += (original[done:start], replacement)
            length += start - done
            self._starts.append(length)
            length += len(replacement)
            self._ends.append(length)
            self._original.append((start, end))
            done = end
        self.text = "".join((*parts, original[done:])) if parts else original

    def start(self, offset: int) -> int | None:
        """Where a passage begins whose folded form begins at ``offset``; None inside a fold."""
        return self._back(bisect_right(self._starts, offset) - 1, offset)

    def end(self, offset: int) -> int | None:
        """Where a passage ends whose folded form ends at ``offset``; None inside a fold."""
        return self._back(bisect_left(self._starts, offset) - 1, offset)

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """The original passage of a folded one; None when a fold is cut by its ends."""
        first, last = self.start(start), self.end(end)
        return None if first is None or last is None else (first, max(first, last))

    def _back(self, edit: int, offset: int) -> int | None:
        if edit < 0:
            return offset
        start, end = self._original[edit]
        if offset >= self._ends[edit]:
            return end + offset - self._ends[edit]
        return start if offset == self._starts[edit] else None


def fold(
    text: str, *, trailing: bool = False, look_alike: bool = False, newline: str = "\r\n"
) -> Folded:
    """``text`` with ``newline`` folded to LF, and what else is asked for."""
    return Folded(text, _edits(text, newline, trailing=trailing, look_alike=look_alike))


def fold_line(text: str, *, trailing: bool = False, look_alike: bool = False) -> str:
    """The folded form alone."""
    return fold(text, trailing=trailing, look_alike=look_alike).text


def _edits(
    text: str, newline: str, *, trailing: bool, look_alike: bool
) -> Iterator[tuple[int, int, str]]:
    look_alike = look_alike and not text.isascii()
    if "\r" not in text and not trailing and not look_alike:
        return
    spaces = rf"[ \t{_SPACES}]" if look_alike else r"[ \t]"
    patterns = [newline]
    if trailing:
        patterns.insert(0, rf"(?<!{spaces}){spaces}+(?={newline}|\n|\Z)")
    if look_alike:
        patterns += [_SPACE, _FOREIGN]
    for found in re.finditer("|".join(patterns), text):
        piece = found[0]
        if piece == newline:
            yield found.start(), found.end(), "\n"
        elif piece.isspace():
            ends_line = text.startswith(("\n", newline), found.end()) or found.end() == len(text)
            yield found.start(), found.end(), "" if trailing and ends_line else " "
        else:
            yield from _fold_letters(piece, found.start())


def _fold_letters(run: str, offset: int) -> Iterator[tuple[int, int, str]]:
    """Edits for one run of foreign characters: letter by letter, accents with their letter."""
    start = 0
    while start < len(run):
        end = start + 1
        while end < len(run) and _continues(run[end]):
            end += 1
        letter = run[start:end]
        plain = _LOOK_ALIKE.get(letter[0], letter[0]) + letter[1:]
        folded = unicodedata.normalize("NFC", plain)
        if folded != letter:
            yield offset + start, offset + end, folded
        start = end


def _continues(character: str) -> bool:
    """True for combining marks and for the vowels and finals of decomposed Hangul."""
    return unicodedata.combining(character) != 0 or "\u1160" <= character <= "\u11ff"
