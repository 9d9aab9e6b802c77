"""Images in a message: from a file, from pasted text, and how they become parts of it."""

from __future__ import annotations

import base64
import binascii
import os
import re
import shlex
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

import msgspec

from hermes_plugins import ImagePart

MOST_BYTES: Final = 3_932_160
"""Of one image: 5 MiB as base64, the least limit among the usual vendors (Anthropic, which measures
the base64)."""
_DATA_URL: Final = re.compile(r"\s*data:image/[\w.+-]+;base64,([A-Za-z0-9+/=\s]+)")
_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_ENDINGS: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp")


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """An image as it is sent."""

    name: str
    media_type: str
    data: bytes

    @property
    def part(self) -> ImagePart:
        """The part of a message."""
        return ImagePart(media_type=self.media_type, data=base64.b64encode(self.data).decode())


class NotAnImage(Exception):
    """Raised when a file cannot be sent as an image; its text says why, to the person."""


def media_type(data: bytes) -> str:
    """Of the formats that models take (PNG, JPEG, GIF, WebP), by the first bytes; "" for another."""
    for begin, kind in _MAGIC:
        if data.startswith(begin):
            return kind
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""


def looks_like_image(path: Path) -> bool:
    """True where a file's name says that it is one of those."""
    return path.suffix.lower() in _ENDINGS


def read_image(path: Path) -> Image:
    """The image in a file.

    Raises:
        NotAnImage: it cannot be read, is of another format, or too large.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
            size = max(len(data), os.fstat(file.fileno()).st_size)
    except OSError as error:
        raise NotAnImage(f"{path.name} cannot be read: {error.strerror}.") from error
    return as_image(path.name, data, size=size)


def as_image(name: str, data: bytes, *, size: int = 0) -> Image:
    """The data as an image, of ``size`` bytes where only its beginning is given.

    Raises:
        NotAnImage: it is of another format, or too large.
    """
    kind = media_type(data)
    if not kind:
        raise NotAnImage(f"{name} is no PNG, JPEG, GIF or WebP.")
    if max(size, len(data)) > MOST_BYTES:
        raise NotAnImage(
            f"{name} has {show_size(max(size, len(data)))}; at most {show_size(MOST_BYTES)} can be "
            "sent. Make it smaller."
        )
    return Image(name=name, media_type=kind, data=data)


def pasted_image(text: str) -> Image | None:
    """The image that a pasted text is: a ``data:`` URL, or the bytes themselves.

    Raises:
        NotAnImage: it is one that cannot be sent.
    """
    if found := _DATA_URL.fullmatch(text):
        try:
            return as_image("pasted image", base64.b64decode(found[1]))
        except binascii.Error:
            return None
    if not text.startswith(("\udc89PNG", "\udcff\udcd8", "GIF8", "RIFF")):
        return None
    data = text.encode("utf-8", "surrogateescape")  # as the terminal's input was decoded
    return as_image("pasted image", data) if media_type(data) else None


def pasted_files(text: str) -> list[Path]:
    """The files that a pasted text names, when it names image files and nothing else.

    Terminals paste a file that is dropped on them as its path, in quotes or with backslashes, or as a
    ``file:`` URL.
    """
    if len(text) > 10_000:
        return []
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    paths = [_path(line) for line in lines]
    if None in paths and len(lines) == 1:
        paths = [_path(word) for word in _words(lines[0])]
    found = [path for path in paths if path is not None]
    return found if len(found) == len(paths) else []


def show_size(count: int) -> str:
    """Bytes for people."""
    return f"{count / 1_000_000:.1f} MB" if count >= 1_000_000 else f"{max(1, count // 1000)} KB"


def _path(word: str) -> Path | None:
    """The image file that a word names, or None."""
    if word[:1] in "'\"" and word[-1:] == word[:1]:
        word = word[1:-1]
    try:
        if word.startswith("file://"):
            path = Path(url2pathname(urlsplit(word).path))
        else:
            path = Path(word).expanduser()
        if path.is_absolute() and looks_like_image(path) and path.is_file():
            return path
    except (OSError, RuntimeError, ValueError):
        pass
    return None


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line, posix=os.name != "nt")
    except ValueError:
        return []
