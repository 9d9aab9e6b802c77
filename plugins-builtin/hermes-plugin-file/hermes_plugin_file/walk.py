"""Search by walking the folders through the environment; used where there is no ripgrep.

Leaves out what ripgrep leaves out: hidden names, and what ignore files at or below the root name.
Links to folders are not followed. The root itself is always searched, also when it is hidden.
"""

from __future__ import annotations

import re
import types
from collections.abc import Generator, Sequence
from typing import Final

import msgspec

from hermes_plugins import Environment, ToolContext, ToolError

from .globs import IGNORE_FILES, Rules, chooser
from .places import Place, join
from .text import decode, split_lines

MAX_FILES: Final = 50_000
MAX_BYTES: Final = 10_000_000
"""Larger files are passed over, and counted."""
# Never of interest, and large: the repository's own store, and what package managers unpack.
_NEVER: Final = frozenset({".git", ".hg", ".svn"})
_PACKAGES: Final = frozenset({"node_modules", "__pycache__"})
# A repeat of a group that itself repeats something can take exponential time in Python's matcher.
_NESTED: Final = re.compile(r"\((?:[^()\\]|\\.)*[+*}](?:[^()\\]|\\.)*\)[+*{]")


class FileHits(msgspec.Struct):
    """The matching lines of one file, and the lines around them: number to text."""

    path: str
    matches: list[int]
    lines: dict[int, str]


class Outcome(msgspec.Struct):
    """What a search found; ``files`` in path order, relative to the root."""

    files: list[FileHits]
    searched: int = 0
    left_out: int = 0
    """Hidden and ignored names that were met."""
    other_names: int = 0
    """Files that the glob left out."""
    more: bool = False
    notes: list[str] = msgspec.field(default_factory=list)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A search as the engines take it. ``enough`` is the number of results after which to stop."""

    root: Place
    pattern: str
    glob: str = ""
    literal: bool = False
    everything: bool = False
    """Search hidden and ignored files too."""
    names_only: bool = False
    by_file: bool = False
    """Only which files match, and how often."""
    around: int = 0
    enough: int = 50


async def search(context: ToolContext, request: Request) -> Outcome:
    """Look for the pattern in every file, or list the files.

    Raises:
        ToolError: the pattern could take forever.
    """
    outcome = Outcome([])
    paths = await _paths(context, request, outcome)
    if request.names_only:
        outcome.files = [FileHits(path, [], {}) for path in paths]
        outcome.searched = len(paths)
        return outcome
    pattern = compile_pattern(request.pattern, literal=request.literal)
    needle = request.pattern if request.literal else ""
    found = large = 0
    for count, path in enumerate(paths):
        if context.cancelled.is_set():
            outcome.notes.append("stopped before the end")
            break
        if count % 32 == 31:
            await _pause()
        whole = join(request.root.path, path) if path else request.root.path
        body = await _body(context.environment, whole)
        if body is None:
            large += 1
            continue
        outcome.searched += 1
        if needle and needle not in body:
            continue
        hits = _hits(path, split_lines(body), pattern, request.around)
        if hits.matches:
            outcome.files.append(hits)
            found += 1 if request.by_file else len(hits.matches)
            if found > request.enough:
                outcome.more = True
                break
    if large:
        outcome.notes.append(f"{large} binary, unreadable or very large files passed over")
    return outcome


def compile_pattern(pattern: str, *, literal: bool) -> re.Pattern[str]:
    """The pattern, compiled.

    Raises:
        re.error: it is not a regular expression.
        ToolError: it could take forever.
    """
    if literal:
        return re.compile(re.escape(pattern))
    compiled = re.compile(pattern)
    if _NESTED.search(pattern):
        raise ToolError(
            f"{pattern!r} repeats a group that repeats itself, which could take forever.",
            hint="Write it without a repeat inside a repeated group.",
        )
    return compiled


def _hits(path: str, lines: list[str], pattern: re.Pattern[str], around: int) -> FileHits:
    matches = [number for number, line in enumerate(lines, start=1) if pattern.search(line)]
    shown: dict[int, str] = {}
    for number in matches:
        first, last = max(number - around, 1), min(number + around, len(lines))
        shown.update((at, lines[at - 1]) for at in range(first, last + 1))
    return FileHits(path, matches, shown)


async def _body(environment: Environment, path: str) -> str | None:
    try:
        stat = await environment.stat(path)
        if stat.kind != "file" or stat.size > MAX_BYTES:
            return None
        text = decode(await environment.read(path))
    except ToolError:
        return None
    return None if text is None else text.body


async def _paths(context: ToolContext, request: Request, outcome: Outcome) -> Sequence[str]:
    """Relative paths of the files to search, in order; "" stands for a root that is a file."""
    if request.root.stat.kind == "file":
        return [""]
    wanted = chooser(request.glob)
    found: list[str] = []
    waiting = [("", Rules())]
    while waiting:
        folder, rules = waiting.pop()
        inside = await _folder(context.environment, request, folder, rules, outcome)
        for path, below in reversed(inside):
            if below is not None:
                waiting.append((path, below))
            elif wanted(path):
                found.append(path)
            else:
                outcome.other_names += 1
        if len(found) > MAX_FILES:
            outcome.notes.append(f"only the first {MAX_FILES:,} files were looked at")
            break
        if context.cancelled.is_set():
            break
    return sorted(found)


async def _folder(
    environment: Environment, request: Request, folder: str, rules: Rules, outcome: Outcome
) -> list[tuple[str, Rules | None]]:
    """What lies in a folder: files, and folders with the rules that hold in them."""
    whole = join(request.root.path, folder.rstrip("/")) if folder else request.root.path
    try:
        names = await environment.list(whole)
    except ToolError as error:
        outcome.notes.append(error.message)
        return []
    if not request.everything:
        rules = rules.below(folder, await _ignore_texts(environment, whole, names))
    inside: list[tuple[str, Rules | None]] = []
    for name in names:
        is_folder, bare = name.endswith("/"), name.rstrip("/")
        if bare in _NEVER:
            continue
        path = folder + name
        if not request.everything and (
            bare.startswith(".")
            or bare in _PACKAGES
            or rules.ignores(folder + bare, is_folder=is_folder)
        ):
            outcome.left_out += 1
        elif not is_folder:
            inside.append((path, None))
        elif not (await environment.stat(join(whole, bare))).is_link:
            inside.append((path, rules))
    return inside


async def _ignore_texts(environment: Environment, folder: str, names: Sequence[str]) -> list[str]:
    texts: list[str] = []
    for name in IGNORE_FILES:
        if name in names:
            try:
                texts.append(
                    (await environment.read(join(folder, name))).decode("utf-8", "replace")
                )
            except ToolError:
                continue
    return texts


@types.coroutine
def _pause() -> Generator[None, None, None]:
    """Let other tasks of the loop run."""
    yield
