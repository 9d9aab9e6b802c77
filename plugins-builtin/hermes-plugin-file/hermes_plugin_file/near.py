"""What to tell a model whose old text is not in the file: the closest place, as a small diff."""

from __future__ import annotations

import re
from difflib import SequenceMatcher, unified_diff
from typing import Final

from hermes_plugins import ToolError, contains_mask

from .text import split_lines

MAX_LINES: Final = 20_000
"""Files with more lines are not searched for a near match."""
MAX_DIFF: Final = 30
"""Lines of diff shown."""
MAX_LINE: Final = 500
"""Characters of a line that are compared."""
MAX_CANDIDATES: Final = 8
"""Passages that are compared in full."""
CLOSE_ENOUGH: Final = 0.5
"""Similarity from which a place is worth showing."""

_NUMBERED = re.compile(r"\d+\|")


def no_match(body: str, old: str, *, what: str = "old_string", above: int = 0) -> ToolError:
    """The error for an old text that is nowhere, with what probably went wrong.

    ``what`` names it; ``above`` is how many lines of the file stand before ``body``.
    """
    message = f"{what} is not in the file; nothing was changed."
    wanted = split_lines(old)
    lines = split_lines(body)
    place = _closest(lines, wanted)
    if place is not None:
        found = lines[place : place + len(wanted)]
        diff = list(unified_diff(wanted, found, lineterm="", n=1))[3:]
        more = [f"… {len(diff) - MAX_DIFF} more lines"] if len(diff) > MAX_DIFF else []
        shown = "\n".join((*diff[:MAX_DIFF], *more))
        first, last = above + place + 1, above + place + len(found)
        where = f"line {first}" if first == last else f"lines {first}-{last}"
        message += f" The closest place is {where} (- {what}, + file):\n{shown}\n"
    return ToolError(message, hint=_advice(body, old, wanted, what=what))


def _advice(body: str, old: str, wanted: list[str], *, what: str) -> str:
    if contains_mask(old):
        return f"{what} holds a masked secret, which the file does not: choose lines without it."
    if all(_NUMBERED.match(line) for line in wanted if line.strip()):
        return "Leave out the line numbers that read_file shows before each line."
    if "\\n" in old and old.replace("\\n", "\n") in body.replace("\r\n", "\n"):
        return f"{what} holds a backslash and an n where the file has a line end."
    return "Read the file again and copy the lines as they are."


def _closest(lines: list[str], wanted: list[str]) -> int | None:
    """Index of the passage most like ``wanted``, found by its first or its longest line."""
    filled = [index for index, line in enumerate(wanted) if line.strip()]
    if not lines or not filled or len(lines) > MAX_LINES:
        return None
    best, place = CLOSE_ENOUGH, None
    for key in {filled[0], max(filled, key=lambda index: len(wanted[index].strip()))}:
        for top in _candidates(lines, wanted[key], key):
            block = "\n".join(lines[top : top + len(wanted)])
            ratio = SequenceMatcher(None, block, "\n".join(wanted), autojunk=False).ratio()
            if ratio > best:
                best, place = ratio, top
    return place


def _candidates(lines: list[str], key: str, depth: int) -> list[int]:
    """Where a passage may begin whose line number ``depth`` is like ``key``; the likeliest few."""
    matcher = SequenceMatcher(None, "", key.strip()[:MAX_LINE], autojunk=False)
    rated: list[tuple[float, int]] = []
    for index in range(depth, len(lines)):
        matcher.set_seq1(lines[index].strip()[:MAX_LINE])
        if matcher.real_quick_ratio() >= CLOSE_ENOUGH and matcher.quick_ratio() >= CLOSE_ENOUGH:
            rated.append((matcher.quick_ratio(), index - depth))
    return [top for _, top in sorted(rated, reverse=True)[:MAX_CANDIDATES]]
