"""New text in the place of a passage, with the file's own characters where nothing changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TypeAlias

from .folding import Folded, fold_line
from .text import Newline, adapt_newlines

# Lines, then words, then letters; accents that are characters of their own stay with their letter.
_LEVELS = (
    re.compile("[^\n]*\n|[^\n]+"),
    re.compile("[\\w\u0300-\u036f\u3099\u309a]+|[^\\w\u0300-\u036f\u3099\u309a]"),
    re.compile("(?s:.)[\u0300-\u036f\u3099\u309a]*"),
)
_MAX_LETTERS = 2000
"""Passages with more characters are not compared letter by letter."""

# old start, old end (characters), new start, new end; equal or not
_Step: TypeAlias = tuple[bool, int, int, int, int]


def keep_own(
    folded: Folded, offset: int, old: str, new: str, *, newline: Newline, look_alike: bool
) -> str:
    """What replaces the passage whose folded form ``old`` begins at ``offset``.

    Parts that ``old`` and ``new`` share are taken from the original; the rest is ``new``, with
    ``newline`` as its line end.
    """
    parts: list[str] = []
    for equal, old_start, old_end, new_start, new_end in _steps(old, new, look_alike=look_alike):
        span = folded.span(offset + old_start, offset + old_end) if equal else None
        if span is None:
            parts.append(adapt_newlines(new[new_start:new_end], newline))
        else:
            parts.append(folded.original[span[0] : span[1]])
    return "".join(parts)


def _steps(old: str, new: str, *, look_alike: bool) -> Iterator[_Step]:
    """Line by line, then word by word and letter by letter in what differs; neighbours joined."""
    pending: _Step | None = None
    for step in _raw_steps(old, new, look_alike=look_alike):
        if pending and pending[0] and step[0]:
            pending = (True, pending[1], step[2], pending[3], step[4])
            continue
        if pending:
            yield pending
        pending = step
    if pending:
        yield pending


def _raw_steps(old: str, new: str, *, look_alike: bool, level: int = 0) -> Iterator[_Step]:
    pieces = _LEVELS[level]
    last = level == len(_LEVELS) - 1 or (level and len(old) + len(new) > _MAX_LETTERS)
    for step in _compare(pieces.findall(old), pieces.findall(new), look_alike=look_alike):
        equal, a, b, c, d = step
        if equal or last or a == b or c == d:
            yield step
            continue
        for same, e, f, g, h in _raw_steps(
            old[a:b], new[c:d], look_alike=look_alike, level=level + 1
        ):
            yield same, a + e, a + f, c + g, c + h


def _compare(old: Sequence[str], new: Sequence[str], *, look_alike: bool) -> Iterator[_Step]:
    def comparable(pieces: Sequence[str]) -> Sequence[str]:
        if not look_alike:
            return pieces
        return [fold_line(piece, look_alike=True) for piece in pieces]

    old_at, new_at = _offsets(old), _offsets(new)
    matcher = SequenceMatcher(None, comparable(old), comparable(new), autojunk=len(old) > 5000)
    for name, a, b, c, d in matcher.get_opcodes():
        yield name == "equal", old_at[a], old_at[b], new_at[c], new_at[d]


def _offsets(pieces: Sequence[str]) -> list[int]:
    offsets = [0]
    for piece in pieces:
        offsets.append(offsets[-1] + len(piece))
    return offsets
