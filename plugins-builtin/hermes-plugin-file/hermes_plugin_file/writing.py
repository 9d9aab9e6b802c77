"""write_file, and what every write shares: form, secrets, the answer's diff."""

from __future__ import annotations

import re
from difflib import unified_diff
from typing import Final

from hermes_plugins import ToolContext, ToolError, contains_mask

from . import seen, syntax
from .places import Place, locate
from .text import Text, adapt_newlines, decode, encode, split_lines

MAX_READ: Final = 50_000_000
"""Bytes of an old file that are looked at before it is replaced."""
MAX_DIFF: Final = 60
"""Lines of diff in an answer."""
MAX_DIFF_LINE: Final = 300
_NEWLINES: Final = {"\r\n": "CRLF line ends", "\r": "CR line ends"}


async def write(context: ToolContext, path: str, content: str) -> str:
    """Replace a file whole, or make it.

    Raises:
        ToolError: it changed since it was read, holds a masked secret, or cannot be written.
    """
    place = await locate(context.environment, path)
    refuse_unwritable(place)
    files = seen.of(context)
    data = old = None
    if place.stat.kind == "file" and place.stat.size <= MAX_READ:
        data = await context.environment.read(place.path)
        old = decode(data)
    if place.stat.kind == "file":
        seen.refuse_stale(files, place, data)
    refuse_masks(content, old.body if old else "", "content")
    body, form, notes = _formed(content, old)
    fresh = encoded(place, body, form)
    known = files.get(place.path) is not None
    stat = await context.environment.write(place.path, fresh, expected=place.stat)
    files.note(place.path, stat, fresh)
    return _answer(place, body, old=old, size=len(fresh), known=known, notes=notes)


def refuse_unwritable(place: Place) -> None:
    """Raises ToolError for a folder or a device."""
    if place.stat.kind in ("folder", "other"):
        what = "a folder" if place.stat.kind == "folder" else "a device, pipe or socket"
        raise ToolError(f"{place.shown} is {what}; nothing was written.")


def refuse_masks(text: str, before: str, what: str) -> None:
    """A mask written back would replace the secret that it hides.

    Raises:
        ToolError: ``text`` has one and the file, as it is on disk, has none.
    """
    if contains_mask(text) and not contains_mask(before):
        raise ToolError(
            f"{what} holds a masked secret (it was shown masked); nothing was written.",
            hint="Change only the lines around it with patch, or ask the person for the value.",
        )


def encoded(place: Place, body: str, form: Text) -> bytes:
    """``body`` as bytes in the file's form.

    Raises:
        ToolError: the file's encoding has no such character.
    """
    try:
        return encode(body, form)
    except UnicodeEncodeError as error:
        character = body[error.start]
        if "\ud800" <= character <= "\udfff":
            raise ToolError("the text holds half a character (a lone surrogate).") from error
        raise ToolError(
            f"{place.shown} is {form.note.split(',')[0]}, which has no {character!r}.",
            hint="Use write_file for the whole file to make it UTF-8.",
        ) from error


def _formed(content: str, old: Text | None) -> tuple[str, Text, list[str]]:
    """The content in the old file's encoding and line ends, and what is worth saying about it."""
    if old is None:
        return content, Text(""), []
    notes: list[str] = []
    body, form = content, old
    if old.mark:
        body = body.removeprefix("\ufeff")
    if "\r" not in body and old.newline in _NEWLINES:
        body = adapt_newlines(body, old.newline)
        notes.append(f"kept {_NEWLINES[old.newline]}")
    if old.encoding in ("cp1252", "latin-1"):
        try:
            body.encode(old.encoding)
        except UnicodeEncodeError:
            form = Text("")
            notes.append(f"now UTF-8, because {old.note.split(',')[0]} lacks a character of it")
    if form is old and old.note:
        notes.append(f"kept {old.note.split(',')[0]}")
    return body, form, notes


def _answer(
    place: Place, body: str, *, old: Text | None, size: int, known: bool, notes: list[str]
) -> str:
    count = len(split_lines(body))
    if place.stat.kind == "missing":
        change = "new file"
    elif old is None:
        change = f"replaced {place.stat.size:,} bytes that are not text"
    else:
        unseen = "" if known else " that you had not read"
        change = f"replaced {len(split_lines(old.body))} lines{unseen}"
    notes = [note for note in (change, *notes, place.note) if note]
    first = f"Wrote {place.shown}: {count} lines, {size:,} bytes ({'; '.join(notes)})."
    problem = syntax.warning(place.path, body, old.body if old else None)
    return f"{first}\n{problem}" if problem else first


def diff(before: str, after: str) -> str:
    """A short unified diff of two texts, without file headers."""
    old, new = split_lines(before), split_lines(after)
    # Equal ends are cut off first: a diff of a long file costs what its change costs.
    top = 0
    while top < min(len(old), len(new)) and old[top] == new[top]:
        top += 1
    end = 0
    while end < min(len(old), len(new)) - top and old[-1 - end] == new[-1 - end]:
        end += 1
    top, end = max(top - 2, 0), max(end - 2, 0)
    lines = list(
        unified_diff(old[top : len(old) - end], new[top : len(new) - end], lineterm="", n=2)
    )[2:]
    if not lines:
        return "(only the line ends changed)"
    shown = [_moved(line, top) for line in lines[:MAX_DIFF]]
    if len(lines) > MAX_DIFF:
        shown.append(f"… {len(lines) - MAX_DIFF} more lines of diff")
    return "\n".join(shown)


def _moved(line: str, by: int) -> str:
    if line.startswith("@@"):
        return re.sub(r"([-+])(\d+)", lambda found: f"{found[1]}{int(found[2]) + by}", line)
    return line if len(line) <= MAX_DIFF_LINE else f"{line[:MAX_DIFF_LINE]}…"
