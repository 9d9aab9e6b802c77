"""Lines of the protocol: RFC 1459 and 2812, with the message tags of IRCv3; no connection."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping

import msgspec

LINE = 512
"""Bytes of a line with CR LF (RFC 2812 2.3); the tags of IRCv3 do not count."""
_HEAD = ":" + "n" * 30 + "!~" + "u" * 10 + "@" + "h" * 63 + " PRIVMSG " + "c" * 64 + " :"
TEXT = LINE - 2 - len(_HEAD)
"""Bytes of text that fit whatever nick (30), user (10), host (63) and channel (64) are: others get the
line with our prefix in front, and the server cuts what is too long then."""
SASL_CHUNK = 400
"""Characters of base64 in one AUTHENTICATE (IRCv3 SASL 3.1)."""

_TAG_ESCAPES = {":": ";", "s": " ", "\\": "\\", "r": "\r", "n": "\n"}
_NOT_TEXT = str.maketrans({"\r": " ", "\n": " ", "\0": " "})


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line from the server. ``source`` is ``nick!user@host`` or the server's name."""

    command: str
    params: tuple[str, ...] = ()
    source: str = ""
    tags: Mapping[str, str] = {}

    @property
    def nick(self) -> str:
        """Who it comes from."""
        return self.source.partition("!")[0]

    @property
    def last(self) -> str:
        """The last parameter, which may hold spaces."""
        return self.params[-1] if self.params else ""


def parse(raw: bytes) -> Line | None:
    """A line, without its end; None where there is no command in it."""
    text = _decoded(raw.rstrip(b"\r\n"))
    tags: Mapping[str, str] = {}
    source = ""
    if text.startswith("@"):
        words, _, text = text[1:].partition(" ")
        tags = dict(_tags(words))
    text = text.lstrip(" ")
    if text.startswith(":"):
        source, _, text = text[1:].partition(" ")
    head, has_last, last = text.lstrip(" ").partition(" :")
    words_ = head.split()
    if not words_:
        return None
    params = (*words_[1:], last) if has_last else tuple(words_[1:])
    return Line(command=words_[0].upper(), params=params, source=source, tags=tags)


def line(*words: str, text: str | None = None) -> bytes:
    """A line to the server. Line ends and NUL in any word become spaces: no word starts a command.

    Raises:
        ValueError: a word that must not hold spaces does, or the line is too long.
    """
    clean = [word.translate(_NOT_TEXT) for word in words]
    if any(" " in word or not word or word.startswith(":") for word in clean):
        raise ValueError(f"not a parameter: {words}")
    if text is not None:
        clean.append(":" + text.translate(_NOT_TEXT))
    raw = " ".join(clean).encode("utf-8", "replace")
    if len(raw) > LINE - 2:
        raise ValueError(f"{len(raw)} bytes do not fit into a line")
    return raw + b"\r\n"


def sasl_plain(account: str, password: str) -> Iterator[str]:
    """What AUTHENTICATE sends, piece by piece (RFC 4616)."""
    whole = base64.b64encode(f"{account}\0{account}\0{password}".encode()).decode("ascii")
    for start in range(0, len(whole), SASL_CHUNK):
        yield whole[start : start + SASL_CHUNK]
    if len(whole) % SASL_CHUNK == 0:
        yield "+"


def addressed(text: str, nick: str) -> str | None:
    """What stands behind ``NICK:``, ``NICK,`` or ``@NICK``; None where the line is not for us."""
    body = text.removeprefix("@")
    rest = body[len(nick) :]
    ends = ":, " if body != text else ":,"
    if body[: len(nick)].lower() != nick.lower() or not rest or rest[0] not in ends:
        return None
    return rest[1:].strip()


def _tags(words: str) -> Iterator[tuple[str, str]]:
    for word in words.split(";"):
        name, _, value = word.partition("=")
        pieces = iter(value)
        yield (
            name,
            "".join(_escaped(next(pieces, "")) if piece == "\\" else piece for piece in pieces),
        )


def _escaped(character: str) -> str:
    return _TAG_ESCAPES.get(character, character)


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
