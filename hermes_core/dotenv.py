"""The secrets file .env: read, and one variable written or removed.

Reads what editors and shells leave behind: a byte order mark, CRLF, ``export NAME=…``, quotes.
``#`` begins a comment at the start of a line or after white space, nowhere else, so a token may hold
one. Nothing is expanded. The last of two lines for one name counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from hermes_core.patterns import lazy

NAME = lazy(r"[A-Za-z_][A-Za-z0-9_]*")

_LINE = lazy(
    r"""[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*=
        (?: [ \t]*"(?P<double>(?:[^"\\]|\\.)*)"  [ \t\r]*(?:[ \t]\#[^\n]*)?(?=\n|\Z)
          | [ \t]*'(?P<single>[^']*)'            [ \t\r]*(?:[ \t]\#[^\n]*)?(?=\n|\Z)
          | (?P<plain>[^\n]*) )""",
    re.VERBOSE | re.DOTALL,
)
_COMMENT = lazy(r"[ \t]#.*")
_ESCAPE = lazy(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}
_SAFE = lazy(r"[A-Za-z0-9_./:@%+=,-]+")


class Assignment(msgspec.Struct, frozen=True):
    """One variable: ``start`` and ``end`` are offsets of its lines, without the last line break."""

    name: str
    value: str
    start: int
    end: int


class Unread(msgspec.Struct, frozen=True):
    """A line that is neither an assignment nor a comment."""

    line: int


def scan(text: str) -> Iterator[Assignment | Unread]:
    """The assignments of a text without byte order mark, in order, and the lines that are none."""
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end].strip()
        if line and not line.startswith("#"):
            match = _LINE.match(text, at)
            if match is None:
                yield Unread(line=text.count("\n", 0, at) + 1)
            else:
                end = match.end()
                yield Assignment(name=match["name"], value=_value(match), start=at, end=end)
        at = end + 1


def set_variable(text: str, name: str, value: str) -> str:
    """``text`` with ``name`` set; every other byte stays."""
    line = f"{name}={quote(value)}"
    found = _find(text, name)
    if found is not None:
        ending = "\r" if text[found.start : found.end].endswith("\r") else ""
        return text[: found.start] + line + ending + text[found.end :]
    newline = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        text += newline
    return text + line + newline


def unset_variable(text: str, name: str) -> str:
    """``text`` without any line that sets ``name``."""
    while (found := _find(text, name)) is not None:
        text = text[: found.start] + text[found.end + 1 :]
    return text


def quote(value: str) -> str:
    """``value`` as `scan`, and a shell, read it back."""
    if _SAFE.fullmatch(value):
        return value
    if not set("'\n\r") & set(value):
        return f"'{value}'"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r") + '"'


def _find(text: str, name: str) -> Assignment | None:
    found = None
    for item in scan(text):
        if isinstance(item, Assignment) and item.name == name:
            found = item
    return found


def _value(match: re.Match[str]) -> str:
    if match["double"] is not None:
        return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[0]), match["double"])
    if match["single"] is not None:
        return match["single"]
    return _COMMENT.sub("", match["plain"]).strip()
