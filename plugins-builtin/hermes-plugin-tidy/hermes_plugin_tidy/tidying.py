"""Tidying of texts. Functions over strings; they know neither host nor tool."""

from __future__ import annotations

import re
from itertools import groupby
from urllib.parse import unquote, urlsplit

from hermes_plugins import Json

PATHS = frozenset({"path", "file", "file_path", "folder", "directory", "cwd", "workdir"})
"""Names of arguments that are paths."""

_QUOTES = "\"'`"
# ECMA-48: control sequences, and the operating system commands (titles, links) of terminals.
_CONTROL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


def tidy_argument(name: str, value: Json) -> Json:
    """The path that was meant by a quoted one or a file address; other arguments as they are."""
    if name not in PATHS or not isinstance(value, str):
        return value
    text = value.strip()
    if len(text) > 2 and text[0] == text[-1] and text[0] in _QUOTES:
        text = text[1:-1]
    if text.startswith("file://"):
        parts = urlsplit(text)
        path = unquote(parts.path)
        # file:///C:/x names a drive, and a host other than this one is somebody else's file.
        path = path[1:] if re.match(r"/[A-Za-z]:", path) else path
        return path if parts.netloc in ("", "localhost") and path else value
    return text or value


def tidy_output(text: str, *, fold_after: int) -> str:
    """Without codes for terminals, with the last state of progress bars and repeated lines counted."""
    plain = _CONTROL.sub("", text)
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in plain.split("\n"))
    folded: list[str] = []
    for line, run in groupby(lines):
        times = sum(1 for _ in run)
        if times <= fold_after:
            folded += [line] * times
        elif line.strip():
            folded += [line, f"[the line above {times} times in all]"]
        else:
            folded.append(line)
    return "\n".join(folded)
