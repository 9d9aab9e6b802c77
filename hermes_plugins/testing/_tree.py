"""A folder as a value to compare, without what differs from run to run."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

MOST_CHARS = 2000
"""Longer text stands there as its digest."""

_OPAQUE = frozenset({
    ".git", ".hg", ".venv", "node_modules", "__pycache__",
    ".mypy_cache", ".pytest_cache", ".ruff_cache",
})  # fmt: skip
"""Folders whose content is their program's own."""
_DATE = r"\d{4}-\d\d-\d\d"
_TIME = r"\d\d:\d\d:\d\d(?:[.,]\d+)?"
_ZONE = r"(?:\s?(?:Z\b|[+-]\d\d:?\d\d\b|UTC\b|GMT\b))?"
_DAY = r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_NORMAL = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"\b\d{8}_\d{6}_[0-9a-f]{6}\b", "<session>"),
        (rf"\b{_DATE}[T _](?:{_TIME}|\d\d:\d\d){_ZONE}|\b\d{{8}}[T_]\d{{6}}Z?\b", "<time>"),
        # As `date` and as mail (RFC 5322) write it.
        (rf"{_DAY} {_MONTH} [ \d]\d {_TIME}(?: [AP]M)?(?: \w+)? \d{{4}}\b", "<time>"),
        (rf"{_DAY}, \d\d? {_MONTH} \d{{4}} {_TIME}{_ZONE}", "<time>"),
        (rf"\b{_DATE}\b", "<date>"),
        (rf"\b{_TIME}\b", "<time>"),
        (r"(?i)\b(pid|process)([ =:#\"]{1,3})\d+\b", r"\1\2<pid>"),
    )
)


def normal(text: str, *, names: Mapping[str, str]) -> str:
    """``text`` with dates, times, process ids and the paths in ``names`` made the same everywhere."""
    for path in sorted(names, key=len, reverse=True):
        text = re.sub(rf"{re.escape(path)}(?![\w-])", names[path], text)
    for pattern, name in _NORMAL:
        text = pattern.sub(name, text)
    return text


def tree_of(folder: Path, *, names: Mapping[str, str]) -> dict[str, str]:
    """Every file below ``folder`` by its path with ``/``, and what is in it.

    Text is `normal`; long or binary content is a digest. A folder counts where nothing is in it, a link
    is ``-> target``.
    """
    found = {}
    for path in sorted(_below(folder)):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = normal(f"-> {os.readlink(path)}", names=names)
        elif path.is_dir():
            found[f"{name}/"] = "..." if path.name in _OPAQUE else ""
        elif path.is_file():
            found[name] = _content(path.read_bytes(), names)
        else:
            found[name] = "(no file)"
    return found


def _below(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_symlink() or not path.is_dir() or path.name in _OPAQUE:
            yield path
        elif any(path.iterdir()):
            yield from _below(path)
        else:
            yield path


def _content(data: bytes, names: Mapping[str, str]) -> str:
    try:
        text = normal(data.decode("utf-8"), names=names)
        data = text.encode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if len(text) <= MOST_CHARS and "\0" not in text and (text or not data):
        return text
    return f"({len(data):,} bytes, sha256 {hashlib.sha256(data).hexdigest()[:16]})"
