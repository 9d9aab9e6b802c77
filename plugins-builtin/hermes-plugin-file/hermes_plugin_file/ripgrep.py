"""Search with ripgrep, where the environment has it. Answers are what ``walk.py`` answers.

Read as text with a zero byte after each path (``--null``), because its lines may be cut and its
errors come in between. Ignore files above the root count too, as its users expect.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from hermes_plugins import ExecResult, ToolContext, ToolError

from .globs import chooser
from .walk import FileHits, Outcome, Request

OUTPUT_LIMIT: Final = 2_000_000
"""Characters of its output that are read."""
TIMEOUT: Final = 60.0
MAX_COLUMNS: Final = 1000

_LINE: Final = re.compile(r"([^\0]*)\0(\d+)([:-])(.*)", re.DOTALL)
_COUNT: Final = re.compile(r"([^\0]*)\0(\d+)")
_TOO_MANY: Final = "there are more matches than could be read; narrow the search"
_SEARCHED: Final = re.compile(r"^(\d+) files searched$", re.MULTILINE)


class NotUsable(Exception):
    """Raised when ripgrep is not there, or cannot read the pattern."""


class Ripgrep:
    """Whether this session's environment has it; asked by using it."""

    def __init__(self) -> None:
        self.missing = False


async def search(context: ToolContext, request: Request) -> Outcome:
    """Run it.

    Raises:
        NotUsable: look in another way.
        ToolError: it took too long.
    """
    known = context.state("file.ripgrep", Ripgrep)
    if known.missing:
        raise NotUsable
    try:
        result = await context.environment.exec(
            _command(request),
            timeout=TIMEOUT,
            output_limit=OUTPUT_LIMIT,
            cancelled=context.cancelled,
        )
    except ToolError as error:
        known.missing = True
        raise NotUsable from error
    if result.timed_out:
        raise ToolError(
            f"the search took longer than {TIMEOUT:.0f} s.", hint="Search a smaller folder."
        )
    if result.exit_code not in (0, 1, 2):
        known.missing = not result.cancelled
        raise NotUsable
    if result.exit_code == 2 and not _SEARCHED.search(result.output):
        raise NotUsable
    if request.names_only:
        return _names(result, request)
    return _counts(result, request) if request.by_file else _matches(result, request)


def _command(request: Request) -> Sequence[str]:
    command = ["rg", "--no-config", "--no-messages", "--color=never", "--null", "--sort=path"]
    command += ["--no-require-git", "--glob=!.git"]
    if request.everything:
        command += ["--hidden", "--no-ignore"]
    if request.names_only:
        return [*command, "--files", "--", request.root.path]
    command += ["--with-filename", "--no-heading", "--stats", "--crlf"]
    if request.by_file:
        command.append("--count")
    else:
        command += [f"--max-columns={MAX_COLUMNS}", "--max-columns-preview", "--line-number"]
        command += [f"--max-count={request.enough + 1}", f"--context={request.around}"]
    if request.glob:
        command.append(f"--glob={request.glob}")
    if request.literal:
        command.append("--fixed-strings")
    return [*command, f"--regexp={request.pattern}", "--", request.root.path]


def _names(result: ExecResult, request: Request) -> Outcome:
    paths = [_relative(path, request) for path in result.output.split("\0")[:-1]]
    kept = list(filter(chooser(request.glob), paths))
    outcome = Outcome([FileHits(path, [], {}) for path in kept], searched=len(kept))
    outcome.other_names = len(paths) - len(kept)
    if result.omitted_chars:
        outcome.notes.append("there are more files than could be listed; search a smaller folder")
    return outcome


def _counts(result: ExecResult, request: Request) -> Outcome:
    files = [
        FileHits(_relative(found[1], request), list(range(int(found[2]))), {})
        for line in result.output.split("\n")
        if (found := _COUNT.fullmatch(line.removesuffix("\r")))
    ]
    outcome = Outcome(files, searched=_searched(result, len(files)))
    if result.omitted_chars:
        outcome.notes.append(_TOO_MANY)
    return outcome


def _matches(result: ExecResult, request: Request) -> Outcome:
    files: dict[str, FileHits] = {}
    found = 0
    for line in result.output.split("\n"):
        parts = _LINE.fullmatch(line.removesuffix("\r"))
        if not parts:
            continue
        path = _relative(parts[1], request)
        hits = files.setdefault(path, FileHits(path, [], {}))
        hits.lines[int(parts[2])] = parts[4]
        if parts[3] == ":":
            hits.matches.append(int(parts[2]))
            found += 1
    matching = [hits for hits in files.values() if hits.matches]
    more = found > request.enough
    outcome = Outcome(matching, searched=_searched(result, len(files)), more=more)
    if result.omitted_chars:
        outcome.notes.append(_TOO_MANY)
    return outcome


def _searched(result: ExecResult, at_least: int) -> int:
    searched = _SEARCHED.search(result.output)
    return int(searched[1]) if searched else at_least


def _relative(path: str, request: Request) -> str:
    inside = path.removeprefix(request.root.path).replace("\\", "/")
    return inside.lstrip("/")
