"""The V4A patch format: a text that says how several files change.

::

    *** Begin Patch
    *** Update File: src/app.py
    *** Move to: src/main.py
    @@ class App:
     a line that stays
    -a line that goes
    +a line that comes
    *** Add File: notes.txt
    +a line of the new file
    *** Delete File: old.py
    *** End Patch

`parse` reads it and `paths` says what it touches; ``hunks.py`` applies it.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

import msgspec

from hermes_plugins import ToolError

Kind: TypeAlias = Literal["Update", "Add", "Delete"]
_HEADER: Final = re.compile(r"\*\*\* (Update|Add|Delete) File: *(.+?)\s*$")
_MOVE: Final = "*** Move to:"
_END_OF_FILE: Final = "*** End of File"
# What a unified diff writes after @@; only the text behind it says where.
_RANGES: Final = re.compile(r"-\d+(,\d+)? \+\d+(,\d+)? @@ ?")


class Hunk(msgspec.Struct):
    """One change. ``anchors`` are lines above it, ``lines`` pairs of a tag (" ", "-", "+") and text."""

    anchors: list[str]
    lines: list[tuple[str, str]]
    at_end: bool = False

    @property
    def old(self) -> list[str]:
        """The lines it expects."""
        return [text for tag, text in self.lines if tag != "+"]


class Operation(msgspec.Struct):
    """What happens to one file."""

    kind: Kind
    path: str
    hunks: list[Hunk] = []
    move_to: str = ""


def parse(patch: str) -> list[Operation]:
    """The operations of a patch, in order.

    Raises:
        ToolError: it is not of this format; names the line.
    """
    lines = _lines(patch)
    begin = 1 if lines[0].strip() == "*** Begin Patch" else 0
    end = len(lines) - 1 if lines[-1].strip() == "*** End Patch" else len(lines)
    operations: list[Operation] = []
    for number, line in enumerate(lines[begin:end], start=begin + 1):
        header = _HEADER.match(line)
        if header:
            kind: Kind = msgspec.convert(header[1], Kind)
            operations.append(Operation(kind, header[2]))
        elif not operations:
            raise _malformed(number, line, "a file header, such as *** Update File: PATH")
        else:
            _take_line(operations[-1], line, number)
    if not operations:
        raise ToolError("the patch changes no file.", hint="Begin with *** Update File: PATH.")
    for operation in operations:
        _settle(operation)
        if operation.kind == "Update" and not operation.hunks and not operation.move_to:
            raise ToolError(f"*** Update File: {operation.path} has no change under it.")
    return operations


def paths(patch: str) -> list[str]:
    """Every path a patch names, without checking anything else."""
    found = []
    for line in _lines(patch):
        header = _HEADER.match(line)
        if header:
            found.append(header[2])
        elif line.startswith(_MOVE):
            found.append(line.removeprefix(_MOVE).strip())
    return [path for path in found if path]


def added_text(operation: Operation) -> str:
    """The lines an operation brings into its file."""
    return "\n".join(text for hunk in operation.hunks for tag, text in hunk.lines if tag == "+")


def _lines(patch: str) -> list[str]:
    """The lines, as `parse` and `paths` both see them: what is judged is what is done."""
    return [line.removesuffix("\r") for line in patch.strip("\r\n").split("\n")]


def _take_line(operation: Operation, line: str, number: int) -> None:
    if line.startswith(_MOVE) and operation.kind == "Update" and not operation.hunks:
        operation.move_to = line.removeprefix(_MOVE).strip()
        return
    if operation.kind == "Delete":
        if line.strip():
            raise _malformed(number, line, "nothing below a Delete File header")
        return
    if operation.kind == "Add":
        if line and line[0] != "+":
            raise _malformed(number, line, "+ before every line of a new file")
        _open_hunk(operation).lines.append(("+" if line else "", line[1:]))
        return
    if line.startswith("@@"):
        _take_anchor(operation, line)
    elif line.strip() == _END_OF_FILE:
        _open_hunk(operation).at_end = True
    elif line == "" or line[0] in " -+":
        _open_hunk(operation).lines.append((line[:1], line[1:]))
    else:
        raise _malformed(number, line, "a space, - or + before every line")


def _take_anchor(operation: Operation, line: str) -> None:
    anchor = _RANGES.sub("", line[2:].strip(), count=1).removesuffix("@@").strip()
    hunks = operation.hunks
    if not hunks or hunks[-1].lines:
        hunks.append(Hunk([], []))
    if anchor:
        hunks[-1].anchors.append(anchor)


def _open_hunk(operation: Operation) -> Hunk:
    if not operation.hunks:
        operation.hunks.append(Hunk([], []))
    return operation.hunks[-1]


def _settle(operation: Operation) -> None:
    """Empty lines without a tag: at the end of a hunk they part operations, elsewhere they count."""
    for hunk in operation.hunks:
        while hunk.lines and not hunk.lines[-1][0]:
            hunk.lines.pop()
        blank = "+" if operation.kind == "Add" else " "
        hunk.lines = [(tag or blank, text) for tag, text in hunk.lines]
    operation.hunks = [hunk for hunk in operation.hunks if hunk.lines]


def _malformed(number: int, line: str, expected: str) -> ToolError:
    return ToolError(
        f"line {number} of the patch is not of the V4A format: {line[:80]!r}; expected {expected}.",
        hint="Nothing was changed.",
    )
