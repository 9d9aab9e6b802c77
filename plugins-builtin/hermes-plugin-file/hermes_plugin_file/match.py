"""Where an old text stands in a file, and the file with the new text in its place.

The strategies run from strict to loose, and the first that finds anything decides: it must find
exactly one place, unless every place is wanted. Every strategy compares whole passages; none
guesses the middle of a passage from its ends. The new text goes in as it is (a backslash stays a
backslash); only its line ends become the file's. Where old and new agree, the file's own characters
are kept, so a curly quote or an odd space beside the change survives it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from hermes_plugins import ToolError

from . import merge, near
from .folding import Folded, fold, fold_line
from .text import adapt_newlines, newline_of


class Replaced(msgspec.Struct, frozen=True):
    """The outcome. ``strategy`` is "" for an exact match; ``lines`` are the places, from 1."""

    body: str
    lines: tuple[int, ...]
    strategy: str = ""


class _Strategy(msgspec.Struct, frozen=True):
    name: str
    trailing: bool = False
    look_alike: bool = False
    indentation: bool = False


class _Place(msgspec.Struct, frozen=True):
    """A passage of the original, its folded form, and what goes there."""

    start: int
    end: int
    old: str
    new: str
    folded_start: int


_STRATEGIES: Final = (
    _Strategy(""),
    _Strategy("spaces at line ends ignored", trailing=True),
    _Strategy("look-alike characters taken as equal", look_alike=True),
    _Strategy("shifted to the file's indentation", trailing=True, indentation=True),
    _Strategy(
        "look-alike characters taken as equal, spaces at line ends ignored",
        trailing=True,
        look_alike=True,
    ),
    _Strategy(
        "shifted to the file's indentation, look-alike characters taken as equal",
        trailing=True,
        look_alike=True,
        indentation=True,
    ),
)


def replace(body: str, old: str, new: str, *, every: bool = False) -> Replaced:
    """``body`` with ``new`` in the place of ``old``, or of every ``old``.

    Raises:
        ToolError: nothing to look for or to change; no place, or more than one.
    """
    if not old.strip():
        raise ToolError(
            "old_string is empty or only whitespace, which would match anywhere.",
            hint="Give the lines to replace; use write_file for a new or empty file.",
        )
    if old == new:
        raise ToolError("old_string and new_string are the same: nothing to change.")
    newline = "\r" if newline_of(body) == "\r" else "\r\n"
    wanted, fresh = (text.replace("\r\n", "\n").replace(newline, "\n") for text in (old, new))
    for strategy in _STRATEGIES:
        folded = fold(
            body, trailing=strategy.trailing, look_alike=strategy.look_alike, newline=newline
        )
        places = _places(folded, wanted, fresh, strategy)
        if places:
            _refuse_ambiguous(body, places, every=every)
            return _apply(folded, places, strategy)
    raise near.no_match(body, old)


def _places(folded: Folded, old: str, new: str, strategy: _Strategy) -> list[_Place]:
    wanted = fold_line(old, trailing=strategy.trailing, look_alike=strategy.look_alike)
    if strategy.indentation:
        return list(_indented(folded, wanted, new))
    # Spaces dropped from the end of old stood for the end of a line, so the match must end one.
    whole_line = strategy.trailing and old != wanted and not wanted.endswith("\n")
    return [
        place
        for start in _find(folded.text, wanted)
        if (place := _place(folded, start, wanted, new)) is not None
        and not (whole_line and folded.text[start + len(wanted) :][:1] not in ("", "\n"))
    ]


def _find(text: str, wanted: str) -> Iterator[int]:
    """Every place, overlapping ones too: those are ambiguous as well."""
    start = text.find(wanted)
    while start >= 0:
        yield start
        start = text.find(wanted, start + 1)


def _place(folded: Folded, start: int, old: str, new: str) -> _Place | None:
    span = folded.span(start, start + len(old))
    return None if span is None else _Place(*span, old, new, start)


def _indented(folded: Folded, old: str, new: str) -> Iterator[_Place]:
    """Places where whole lines agree with those of ``old`` but for one common indentation."""
    lines = old.removesuffix("\n").split("\n")
    first = next(index for index, line in enumerate(lines) if line.strip())
    mine = _indent_of(lines)
    if _indent_of(new.split("\n"))[: len(mine)] != mine and new.strip():
        return
    bare = [line[len(mine) :] for line in lines]
    texts = folded.text.split("\n")
    offsets = [0]
    for text in texts:
        offsets.append(offsets[-1] + len(text) + 1)
    for index, text in enumerate(texts):
        top = index - first
        if text.lstrip() != bare[first].lstrip() or top < 0:
            continue
        block = texts[top : top + len(lines)]
        theirs = _indent_of(block)
        if [line[len(theirs) :] for line in block] != bare:
            continue
        shifted = [theirs + line[len(mine) :] if line.strip() else line for line in new.split("\n")]
        passage = "\n".join(block) + ("\n" if old.endswith("\n") else "")
        place = _place(folded, offsets[top], passage, "\n".join(shifted))
        if place is not None and folded.text.startswith(passage, offsets[top]):
            yield place


def _indent_of(lines: list[str]) -> str:
    """The white space that every line with text begins with."""
    indents = [line[: len(line) - len(line.lstrip())] for line in lines if line.strip()]
    if not indents:
        return ""
    low, high = min(indents), max(indents)
    same = (at for at, character in enumerate(low) if high[at : at + 1] != character)
    return low[: next(same, len(low))]


def _refuse_ambiguous(body: str, places: list[_Place], *, every: bool) -> None:
    if len(places) == 1 or every:
        return
    numbers = [str(line) for line in _lines(body, places)]
    shown = ", ".join(numbers[:10]) + (", …" if len(numbers) > 10 else "")
    raise ToolError(
        f"old_string stands in {len(numbers)} places (lines {shown}); nothing was changed.",
        hint="Add lines around it until it is the only one, or set replace_all.",
    )


def _lines(body: str, places: list[_Place]) -> list[int]:
    newline = newline_of(body) or "\n"
    end = "\n" if "\n" in newline else newline
    return [body.count(end, 0, place.start) + 1 for place in places]


def _apply(folded: Folded, places: list[_Place], strategy: _Strategy) -> Replaced:
    body = folded.original
    parts: list[str] = []
    taken: list[_Place] = []
    done = 0
    for place in places:
        if place.start < done and taken:
            continue
        parts += (body[done : place.start], _text_for(folded, place, strategy))
        done = place.end
        taken.append(place)
    return Replaced("".join((*parts, body[done:])), tuple(_lines(body, taken)), strategy.name)


def _text_for(folded: Folded, place: _Place, strategy: _Strategy) -> str:
    body = folded.original
    passage = body[place.start : place.end]
    newline = newline_of(passage) or newline_of(body)
    if not strategy.look_alike and adapt_newlines(place.old, newline) == passage:
        return adapt_newlines(place.new, newline)
    return merge.keep_own(
        folded,
        place.folded_start,
        place.old,
        place.new,
        newline=newline,
        look_alike=strategy.look_alike,
    )
