"""Shell patterns and .gitignore files, as git and ripgrep read them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from hermes_plugins import ToolError

IGNORE_FILES: Final = (".gitignore", ".ignore", ".rgignore")
"""Files with ignore rules; a later one counts more."""


class Rule(msgspec.Struct, frozen=True):
    """One line of an ignore file. ``keep`` is for a line that begins with ``!``."""

    pattern: re.Pattern[str]
    keep: bool
    folders_only: bool


class Rules:
    """The ignore rules that hold in one folder: its own, and those of the folders above it."""

    def __init__(
        self, base: str = "", own: Sequence[Rule] = (), above: Rules | None = None
    ) -> None:
        self._base = base
        self._own = own
        self._above = above

    def below(self, folder: str, texts: Sequence[str]) -> Rules:
        """The rules in ``folder`` (relative, ends with ``/``) that has ignore files of its own."""
        own = [rule for text in texts for rule in read_rules(text)]
        return Rules(folder, own, self) if own else self

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        """Whether ``path`` (relative to the root, forward slashes) is left out.

        The nearest file decides, and in it the last line that fits.
        """
        here: Rules | None = self
        while here is not None:
            local = path.removeprefix(here._base)
            for rule in reversed(here._own):
                if (is_folder or not rule.folders_only) and rule.pattern.fullmatch(local):
                    return not rule.keep
            here = here._above
        return False


def read_rules(text: str) -> Iterator[Rule]:
    """The rules of an ignore file; lines that are no pattern are passed over."""
    for line in text.lstrip("\ufeff").split("\n"):
        line = re.sub(r"(?<!\\)[ \t]+$", "", line.rstrip("\r"))
        if not line or line.startswith("#"):
            continue
        keep = line.startswith("!")
        body = line[1:] if keep else line
        body = body[1:] if body.startswith(("\\#", "\\!")) else body
        folders_only = body.endswith("/")
        body = body.rstrip("/")
        anchored = "/" in body
        body = body.lstrip("/")
        try:
            regex = to_regex(body)
            pattern = re.compile(regex if anchored else f"(?:.*/)?{regex}", re.DOTALL)
        except re.error:
            continue
        yield Rule(pattern, keep, folders_only)


@lru_cache(maxsize=64)
def compile_glob(glob: str) -> re.Pattern[str]:
    """Matches relative paths; a glob without a slash looks at the file's name alone.

    Raises:
        ToolError: it is not a pattern.
    """
    body = glob.removeprefix("./").lstrip("/")
    regex = "|".join(to_regex(choice) for choice in _choices(body))
    prefix = "" if "/" in body else "(?:.*/)?"
    try:
        return re.compile(f"{prefix}(?:{regex})", re.DOTALL)
    except re.error as error:
        raise ToolError(f"glob {glob!r} is not a pattern: {error}.") from None


def chooser(glob: str) -> Callable[[str], bool]:
    """Whether a relative path is wanted: like the glob, or, after a ``!``, unlike it.

    Raises:
        ToolError: it is not a pattern.
    """
    pattern = compile_glob(glob.removeprefix("!"))
    if glob.startswith("!"):
        return lambda path: not pattern.fullmatch(path)
    return lambda path: not glob or pattern.fullmatch(path) is not None


def to_regex(glob: str) -> str:
    """The regular expression of one pattern: ``*``, ``?``, ``[...]``, ``**`` between slashes."""
    out: list[str] = []
    at = 0
    while at < len(glob):
        rest = glob[at:]
        if rest.startswith("**/") and (at == 0 or glob[at - 1] == "/"):
            out.append("(?:.*/)?")
            at += 3
        elif rest == "**" and (at == 0 or glob[at - 1] == "/"):
            out.append(".*")
            at += 2
        elif rest[0] == "*":
            out.append("[^/]*")
            at += len(rest) - len(rest.lstrip("*"))
        elif rest[0] == "?":
            out.append("[^/]")
            at += 1
        elif rest[0] == "[" and (closing := _closing(rest)):
            inner = rest[1:closing].replace("\\", "\\\\").replace("[", "\\[")
            out.append(f"[{'^/' + inner[1:] if inner[0] in '!^' else inner}]")
            at += closing + 1
        else:
            escaped = rest[0] == "\\" and len(rest) > 1
            out.append(re.escape(rest[1] if escaped else rest[0]))
            at += 2 if escaped else 1
    return "".join(out)


def _closing(rest: str) -> int:
    """Index of the bracket that closes the class at the start of ``rest``; 0 where there is none."""
    found = rest.find("]", 3 if rest[1:2] in ("!", "^") else 2)
    return max(found, 0)


def _choices(glob: str) -> list[str]:
    """``*.{py,md}`` as ``*.py`` and ``*.md``."""
    found = re.search(r"\{([^{}]*)\}", glob)
    if not found:
        return [glob]
    before, after = glob[: found.start()], glob[found.end() :]
    return [each for choice in found[1].split(",") for each in _choices(before + choice + after)]
