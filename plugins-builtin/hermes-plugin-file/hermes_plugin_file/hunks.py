"""The hunks of a V4A patch, applied to the text of one file."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from hermes_plugins import ToolError

from . import merge
from .folding import fold, fold_line
from .near import no_match
from .text import Newline, newline_of, split_lines
from .v4a import Hunk, Operation

# How strictly the lines of a hunk are compared: spaces at line ends, look-alike characters.
_LEVELS = ((False, False), (True, False), (True, True))


class _Place(msgspec.Struct, frozen=True):
    start: int
    look_alike: bool = False


def apply(body: str, operation: Operation) -> str:
    """``body`` after all hunks of an update.

    Lines that stay are the file's own; new ones get its line end; a missing last one stays missing.

    Raises:
        ToolError: a hunk that does not fit, named by its index, its reason and its file.
    """
    newline = newline_of(body) or "\n"
    raw = _with_ends(body)
    lines = [_bare(line) for line in raw]
    cursor = 0
    for index, hunk in enumerate(operation.hunks, start=1):
        try:
            place = _locate(lines, hunk, cursor)
        except ToolError as error:
            raise ToolError(
                f"hunk {index} of {len(operation.hunks)} of {operation.path}: {error.message}",
                hint=error.hint,
            ) from error
        end = place.start + len(hunk.old)
        fresh = _changed(hunk, raw[place.start : end], newline, place)
        raw[place.start : end] = fresh
        lines[place.start : end] = [_bare(line) for line in fresh]
        cursor = place.start + len(fresh)
    return _joined(raw, newline, ends=not body or body.endswith(("\n", "\r")))


def _locate(lines: Sequence[str], hunk: Hunk, cursor: int) -> _Place:
    """Where the hunk's lines stand, from line ``cursor`` on.

    Raises:
        ToolError: nowhere, or in several places.
    """
    tops = _below_anchors(lines, hunk.anchors, cursor)
    if not hunk.old:
        if hunk.at_end or not hunk.anchors:
            return _Place(len(lines))
        return _Place(_only(tops, "its anchor stands"))
    if not hunk.anchors and not any(line.strip() for line in hunk.old):
        raise ToolError("it has only blank lines to go by.", hint="Add lines with text around it.")
    for trailing, look_alike in _LEVELS:
        found = _find(lines[cursor:], hunk.old, trailing=trailing, look_alike=look_alike)
        found = [cursor + index for index in found]
        if hunk.at_end:
            found = [index for index in found if index + len(hunk.old) == len(lines)]
        if hunk.anchors:
            firsts = (next((at for at in found if at >= top), None) for top in tops)
            found = sorted({at for at in firsts if at is not None})
        if found:
            return _Place(_only(found, "its lines stand"), look_alike)
    if cursor and _find(lines[:cursor], hunk.old, trailing=True, look_alike=True):
        raise ToolError(
            f"its lines stand above line {cursor}, where the hunk before it ended.",
            hint="Put the hunks in the file's order. Nothing was changed.",
        )
    body, old = "\n".join(lines[cursor:]), "\n".join(hunk.old)
    raise no_match(body, old, what="what it expects", above=cursor)


def _below_anchors(lines: Sequence[str], anchors: Sequence[str], cursor: int) -> list[int]:
    """Line numbers below each place where the anchors stand one under the other."""
    tops = [cursor]
    for depth, anchor in enumerate(anchors):
        found = [i + 1 for i in range(cursor, len(lines)) if lines[i].strip() == anchor]
        found = found or [i + 1 for i in range(cursor, len(lines)) if anchor in lines[i]]
        if depth:
            nexts = (next((at for at in found if at > top), None) for top in tops)
            found = sorted({at for at in nexts if at is not None})
        if not found:
            where = f"below line {cursor}" if cursor else "in the file"
            raise ToolError(
                f"its anchor {anchor!r} is not {where}.",
                hint="Give the anchor line as it stands in the file. Nothing was changed.",
            )
        tops = found
    return tops


def _find(
    lines: Sequence[str], wanted: Sequence[str], *, trailing: bool, look_alike: bool
) -> list[int]:
    if trailing or look_alike:
        lines = [fold_line(line, trailing=trailing, look_alike=look_alike) for line in lines]
        wanted = [fold_line(line, trailing=trailing, look_alike=look_alike) for line in wanted]
    size = len(wanted)
    return [
        index
        for index in range(len(lines) - size + 1)
        if lines[index] == wanted[0] and lines[index : index + size] == wanted
    ]


def _only(found: Sequence[int], what: str) -> int:
    if len(found) > 1:
        shown = ", ".join(str(index + 1) for index in found[:10])
        raise ToolError(
            f"{what} in {len(found)} places (lines {shown}).",
            hint="Add an @@ line with the class or function above it. Nothing was changed.",
        )
    return found[0]


def _changed(hunk: Hunk, block: Sequence[str], newline: Newline, place: _Place) -> list[str]:
    """The lines that replace ``block``, with their ends."""
    if place.look_alike:
        text = "".join(block)
        new = "\n".join(line for tag, line in hunk.lines if tag != "-")
        new += "\n" if text.endswith("\n") and new else ""
        folded = fold(text, trailing=True, look_alike=True)
        kept = merge.keep_own(folded, 0, folded.text, new, newline=newline, look_alike=True)
        return _with_ends(kept)
    own = iter(block)
    fresh: list[str] = []
    for tag, text in hunk.lines:
        if tag == "+":
            fresh.append(text + newline)
        elif tag == " ":
            fresh.append(next(own))
        else:
            next(own)
    return fresh


def _with_ends(body: str) -> list[str]:
    """The lines of `split_lines`, each with its line end."""
    if newline_of(body) == "\r":
        return re.findall(r"[^\r]*\r|[^\r]+", body)
    return re.findall(r"[^\n]*\n|[^\n]+", body)


def _bare(line: str) -> str:
    return "".join(split_lines(line))


def _joined(raw: Sequence[str], newline: Newline, *, ends: bool) -> str:
    """One text: every line ends, and the last one only where it did before."""
    closed = [line if line.endswith(("\n", "\r")) else line + newline for line in raw]
    if closed and not ends:
        closed[-1] = _bare(closed[-1])
    return "".join(closed)
