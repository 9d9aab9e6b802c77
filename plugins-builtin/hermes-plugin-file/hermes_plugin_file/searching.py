"""search_files: what to look for, which engine looks, and how the answer is written."""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec

from hermes_plugins import ToolContext, ToolError

from . import ripgrep, walk
from .globs import chooser
from .places import Place, locate, missing
from .walk import FileHits, Outcome, Request

MAX_RESULTS: Final = 1000
MAX_LINE: Final = 300
"""Characters of a line that are shown."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of one call."""

    pattern: str
    path: str
    target: Literal["content", "files"]
    glob: str
    limit: int
    offset: int
    around: int
    mode: Literal["content", "files", "count"]


async def search(context: ToolContext, query: Query) -> str:
    """Search, and say what was found, or why nothing was.

    Raises:
        ToolError: no such folder, a bad glob, or a search that could take forever.
    """
    root = await locate(context.environment, query.path)
    if root.stat.kind == "missing":
        raise await missing(context.environment, root)
    if root.stat.kind == "other":
        raise ToolError(f"{root.shown} is a device, pipe or socket; it was not searched.")
    if not query.pattern:
        raise ToolError(
            "pattern is empty.", hint='Use "." for every line, or target=files and "*".'
        )
    chooser(query.glob)
    request = Request(
        root=root,
        pattern=query.pattern,
        glob=query.glob,
        names_only=query.target == "files",
        by_file=query.mode != "content",
        around=min(max(query.around, 0), 20),
        enough=min(max(query.limit, 1), MAX_RESULTS) + max(query.offset, 0),
    )
    outcome = await _look(context, request)
    if not outcome.searched:
        # Everything may be hidden or ignored: then that is what was meant.
        left_out = outcome.left_out
        again = await _look(context, msgspec.structs.replace(request, everything=True))
        if again.searched:
            outcome = again
            outcome.notes.insert(
                0, "everything here is hidden or ignored, so it was searched anyway"
            )
        outcome.left_out = left_out
    if query.target == "files":
        return _write_names(query, root, outcome)
    return _write_matches(query, root, outcome)


async def _look(context: ToolContext, request: Request) -> Outcome:
    """Ripgrep, or the walk; a pattern that is no regular expression is taken as plain text."""
    try:
        return await ripgrep.search(context, request)
    except ripgrep.NotUsable:
        pass
    if request.names_only:
        return await walk.search(context, request)
    try:
        walk.compile_pattern(request.pattern, literal=request.literal)
    except re.error as error:
        request = msgspec.structs.replace(request, literal=True)
        outcome = await _look(context, request)
        outcome.notes.append(f"not a regular expression ({error}), so searched as plain text")
        return outcome
    return await walk.search(context, request)


def _write_names(query: Query, root: Place, outcome: Outcome) -> str:
    pattern = query.pattern
    wanted = chooser(pattern if any(c in pattern for c in "*?[{") else f"*{pattern}*")
    names = [hits.path for hits in outcome.files if wanted(hits.path)]
    page = names[max(query.offset, 0) :][: min(max(query.limit, 1), MAX_RESULTS)]
    if not page and not names:
        return _nothing(f"No file name matches {pattern!r}", root, query, outcome)
    end = max(query.offset, 0) + len(page)
    trailer = _many(len(names), "file")
    if end < len(names):
        trailer += f"; continue with offset={end}"
    return _joined([_shown(root, name) for name in page], trailer, outcome)


def _write_matches(query: Query, root: Place, outcome: Outcome) -> str:
    if not outcome.files:
        return _nothing(f"No match for {query.pattern!r}", root, query, outcome)
    limit, offset = min(max(query.limit, 1), MAX_RESULTS), max(query.offset, 0)
    total = sum(len(hits.matches) for hits in outcome.files)
    if query.mode != "content":
        page = outcome.files[offset : offset + limit]
        end, more = offset + len(page), offset + len(page) < len(outcome.files) or outcome.more
        counts = query.mode == "count"
        lines = [
            _shown(root, hits.path) + (f":{len(hits.matches)}" if counts else "") for hits in page
        ]
        trailer = f"{_many(len(outcome.files), 'file')} with matches"
    else:
        lines = _content(root, outcome, offset, limit, max(query.around, 0))
        end, more = min(offset + limit, total), total > offset + limit
        trailer = f"{_many(total, 'match', 'es')} in {_many(len(outcome.files), 'file')}"
        if more:
            trailer = f"matches {offset + 1}-{end}"
    if more:
        trailer += f"; continue with offset={end}"
    return _joined(lines, trailer, outcome)


def _content(root: Place, outcome: Outcome, offset: int, limit: int, around: int) -> list[str]:
    """One heading a file, then its lines: ``12:`` a match, ``13-`` a line beside one."""
    lines: list[str] = []
    passed = 0
    for hits in outcome.files:
        chosen = hits.matches[max(offset - passed, 0) : max(offset + limit - passed, 0)]
        passed += len(hits.matches)
        if chosen:
            lines.append(_shown(root, hits.path))
            lines += _of_file(hits, chosen, around)
    return lines


def _of_file(hits: FileHits, chosen: list[int], around: int) -> list[str]:
    near = {at for match in chosen for at in range(match - around, match + around + 1)}
    matching = set(hits.matches)
    lines: list[str] = []
    last = 0
    for number in sorted(near & hits.lines.keys()):
        if around and last and number != last + 1:
            lines.append("--")
        text = hits.lines[number]
        text = text if len(text) <= MAX_LINE else f"{text[:MAX_LINE]}…"
        lines.append(f"{number}{':' if number in matching else '-'}{text}")
        last = number
    return lines


def _shown(root: Place, path: str) -> str:
    """The path as the next call may name it."""
    if not path or root.shown == ".":
        return path or root.shown
    return f"{root.shown.rstrip('/')}/{path}"


def _nothing(what: str, root: Place, query: Query, outcome: Outcome) -> str:
    where = "this folder" if root.shown == "." else root.shown
    if outcome.searched:
        first = f"{what} in {_many(outcome.searched, 'file')} of {where}."
    elif outcome.other_names:
        first = f"Nothing was searched: no file of {where} is like {query.glob!r}"
        first += f" ({outcome.other_names} others are there)."
    else:
        first = f"Nothing was searched: {where} holds no file that can be read as text."
    if outcome.left_out:
        first += f" {outcome.left_out} hidden or ignored entries were left out."
    return " ".join((first, *(f"[{note}]" for note in outcome.notes)))


def _many(count: int, what: str, plural: str = "s") -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}{plural}"


def _joined(lines: list[str], trailer: str, outcome: Outcome) -> str:
    return "\n".join((*lines, f"[{'; '.join((trailer, *outcome.notes))}]"))
