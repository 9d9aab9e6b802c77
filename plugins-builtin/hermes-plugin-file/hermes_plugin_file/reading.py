"""read_file: numbered lines of a text file, a listing of a folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hermes_plugins import ToolContext, ToolError

from . import seen
from .places import Place, locate, missing
from .text import Text, decode, image_kind, split_lines

MAX_LINES: Final = 2000
MAX_LINE: Final = 2000
"""Characters of a line that are shown."""
MAX_CHARS: Final = 100_000
"""Characters of an answer; less where the model's window is small."""
_ROOM_FOR_TRAILER: Final = 500


async def read(context: ToolContext, path: str, *, offset: int, limit: int) -> str:
    """The lines ``offset`` to ``offset + limit - 1``.

    Raises:
        ToolError: it is missing, not text, not a file, or ends before ``offset``.
    """
    environment = context.environment
    place = await locate(environment, path)
    offset, limit = max(offset, 1), min(max(limit, 1), MAX_LINES)
    if place.stat.kind == "missing":
        raise await missing(environment, place)
    if place.stat.kind == "folder":
        return _listing(place, await environment.list(place.path), offset, limit)
    if place.stat.kind == "other":
        raise ToolError(f"{place.shown} is a device, pipe or socket, not a file; it was not read.")
    files = seen.of(context)
    known = files.get(place.path)
    if known and known.is_version(place.stat) and (offset, limit) in known.shown:
        # Said once: the answer may have been compressed away, and then asking again must help.
        known.shown.discard((offset, limit))
        return f"[{place.shown} is unchanged since you read these lines; ask again to see them.]"
    data = await environment.read(place.path)
    text = _text_of(place, data)
    shown = _numbered(place, text, offset, limit, room=_room(context))
    files.note(place.path, place.stat, data).shown.add((offset, limit))
    return shown


def _room(context: ToolContext) -> int:
    window = context.result_chars if context.result_chars > 0 else MAX_CHARS
    return max(min(MAX_CHARS, window) - _ROOM_FOR_TRAILER, MAX_LINE + 100)


def _text_of(place: Place, data: bytes) -> Text:
    text = decode(data)
    if text is not None:
        return text
    kind = image_kind(data)
    what = f"a {kind} image" if kind else "a binary file"
    raise ToolError(
        f"{place.shown} is {what} ({len(data):,} bytes); read_file shows text only.",
        hint="Use a tool for images." if kind else "Use a program for its format.",
    )


def _numbered(place: Place, text: Text, offset: int, limit: int, *, room: int) -> str:
    lines = split_lines(text.body)
    total = len(lines)
    notes = [note for note in (place.note, text.note) if note]
    if text.mixed:
        notes.append("its lines end in more than one way")
    if not total:
        return f"[{'; '.join(['empty file', *notes])}]"
    if offset > total:
        raise ToolError(
            f"{place.shown} has {total} lines; line {offset} is past its end.",
            hint=f"Use an offset of at most {total}.",
        )
    chosen = lines[offset - 1 : offset - 1 + limit]
    if len(text.body) > MAX_LINE and any(len(line) > MAX_LINE for line in chosen):
        chosen = [_cut(line) for line in chosen]
    numbered = [f"{number}|{line}" for number, line in enumerate(chosen, start=offset)]
    shown = _fitting(numbered, room)
    last = offset + len(shown) - 1
    if last < total:
        notes.insert(0, f"lines {offset}-{last} of {total}; continue with offset={last + 1}")
    elif offset > 1:
        notes.insert(0, f"lines {offset}-{last} of {total}")
    else:
        notes.insert(0, f"{total} lines" if total > 1 else "1 line")
    return "\n".join((*shown, f"[{'; '.join(notes)}]"))


def _cut(line: str) -> str:
    if len(line) <= MAX_LINE:
        return line
    return f"{line[:MAX_LINE]}… [cut here: the line has {len(line):,} characters]"


def _fitting(lines: list[str], room: int) -> list[str]:
    """The first lines that fit into ``room`` characters; always one at least."""
    if sum(map(len, lines)) + len(lines) <= room:
        return lines
    used = 0
    for count, line in enumerate(lines):
        used += len(line) + 1
        if used > room:
            return lines[: max(count, 1)]
    return lines


def _listing(place: Place, entries: Sequence[str], offset: int, limit: int) -> str:
    shown = entries[offset - 1 : offset - 1 + limit]
    trailer = f"folder {place.shown}: {len(entries)} entries"
    if offset - 1 + len(shown) < len(entries):
        trailer += f"; continue with offset={offset + len(shown)}"
    return "\n".join((*shown, f"[{trailer}]"))
