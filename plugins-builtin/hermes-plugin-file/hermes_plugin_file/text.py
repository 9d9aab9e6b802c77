"""Bytes of a file to text and back, without loss.

`decode` keeps every character as it stands, line endings included, so that `encode` of the same
body gives the same bytes. Knows UTF-8 with and without a byte order mark, UTF-16 and UTF-32 with
one, and falls back to Windows-1252 and Latin-1, which can say any byte.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

Newline: TypeAlias = Literal["", "\n", "\r\n", "\r"]

# Longest first: the UTF-32 LE mark begins with the UTF-16 LE one.
_MARKS: Final = (
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xfe\xff", "utf-16-be"),
    (b"\xff\xfe", "utf-16-le"),
)
_NAMES: Final = {
    "utf-16-le": "UTF-16 LE",
    "utf-16-be": "UTF-16 BE",
    "utf-32-le": "UTF-32 LE",
    "utf-32-be": "UTF-32 BE",
    "cp1252": "Windows-1252",
    "latin-1": "Latin-1",
}
_IMAGES: Final = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"BM", "BMP"),
    (b"II*\x00", "TIFF"),
    (b"MM\x00*", "TIFF"),
    (b"\x00\x00\x01\x00", "ICO"),
)
# Text holds tabs, line ends, form feeds and escape sequences; of the other control characters a
# damaged or foreign text has few.
_CONTROL: Final = bytes(set(range(32)) - {7, 8, 9, 10, 12, 13, 27}) + b"\x7f"
_PROBE: Final = 8192


class Text(msgspec.Struct, frozen=True):
    """A decoded file. ``body`` has its line endings as they stand in the file."""

    body: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def newline(self) -> Newline:
        """The line ending that most of its lines have; "" where there is no line end."""
        return newline_of(self.body)

    @property
    def mixed(self) -> bool:
        """True when it has more than one kind of line ending."""
        return sum(map(bool, _count(self.body))) > 1

    @property
    def note(self) -> str:
        """What a reader should know about its form, "" for plain UTF-8."""
        if self.encoding in _NAMES:
            return f"{_NAMES[self.encoding]}, shown as Unicode"
        return "UTF-8 with a byte order mark" if self.mark else ""


def decode(data: bytes) -> Text | None:
    """The text in ``data``, or None when it is not text."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return Text(data[len(mark) :].decode(encoding), encoding, mark)
            except UnicodeDecodeError:
                continue
    if b"\x00" in data[:_PROBE] or image_kind(data):
        return None
    # The whole file is decoded, so no character is ever cut in two by the end of a probe.
    try:
        return Text(data.decode("utf-8"))
    except UnicodeDecodeError:
        return _decode_single_byte(data)


def encode(body: str, like: Text) -> bytes:
    """``body`` in the encoding of ``like``, its byte order mark included.

    Raises:
        UnicodeEncodeError: the encoding has no such character.
    """
    return like.mark + body.encode(like.encoding)


def adapt_newlines(body: str, newline: Newline) -> str:
    """``body`` with every line end written as ``newline``."""
    plain = body.replace("\r\n", "\n")
    return plain if newline in ("", "\n") else plain.replace("\n", newline)


def newline_of(body: str) -> Newline:
    """The line ending that most lines of ``body`` have; "" where there is none.

    A lone carriage return ends a line only in a file that has no line feed at all.
    """
    crlf, feeds, returns = _count(body)
    if crlf or feeds:
        return "\r\n" if crlf > feeds else "\n"
    return "\r" if returns else ""


def split_lines(body: str) -> list[str]:
    """The lines without their ends. A final line end opens no further line.

    Only CR LF, LF and (see `newline_of`) CR end a line, as in editors and grep: not the form feed
    or the Unicode separators that `str.splitlines` knows.
    """
    newline = newline_of(body)
    if newline == "\r":
        lines = body.split("\r")
    elif "\r" in body:
        lines = [line[:-1] if line.endswith("\r") else line for line in body.split("\n")]
    else:
        lines = body.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def image_kind(data: bytes) -> str:
    """The format of an image by its first bytes, "" when it is none."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WebP"
    kind = next((name for magic, name in _IMAGES if data.startswith(magic)), "")
    # "BM" is also how a text may begin; the header's size field tells them apart.
    if kind == "BMP" and int.from_bytes(data[2:6], "little") != len(data):
        return ""
    return kind


def _decode_single_byte(data: bytes) -> Text | None:
    probe = data[:_PROBE]
    if len(probe) - len(probe.translate(None, _CONTROL)) > len(probe) // 20:
        return None
    for encoding in ("cp1252", "latin-1"):
        try:
            return Text(data.decode(encoding), encoding)
        except UnicodeDecodeError:
            continue
    return None


def _count(body: str) -> tuple[int, int, int]:
    """How many lines end with CR LF, with LF alone, and with CR alone."""
    returns = body.count("\r")
    crlf = body.count("\r\n") if returns else 0
    feeds = body.count("\n") - crlf
    lone = 0 if crlf or feeds else returns
    return crlf, feeds, lone
