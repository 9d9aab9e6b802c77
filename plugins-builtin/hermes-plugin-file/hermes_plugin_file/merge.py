"""New text in the place of a passage, with the file's own characters where nothing changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TypeAlias

from .folding import Folded, fold_line
from .text import Newline, adapt_newlines

_TOKENS = re.compile(r"\n|\w+|[^\S\n]|[^\w\s]")
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
    """Line by line first, then word by word inside the lines that differ; neighbours joined."""
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


def _raw_steps(old: str, new: str, *, look_alike: bool) -> Iterator[_Step]:
    old_lines, new_lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
    for equal, a, b, c, d in _compare(old_lines, new_lines, look_alike=look_alike):
        if equal:
            yield True, a, b, c, d
            continue
        words = _compare(
            _TOKENS.findall(old[a:b]), _TOKENS.findall(new[c:d]), look_alike=look_alike
        )
        for same, e, f, g, h in words:
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
