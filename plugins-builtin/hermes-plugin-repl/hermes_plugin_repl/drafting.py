"""What is typed becomes a message: pasted text comes back in whole, ``@file`` brings its file along."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import msgspec

from hermes_plugins import Message, Part, TextPart

from .images import Image, NotAnImage, looks_like_image, pasted_files, pasted_image, read_image
from .images import show_size as size_of

PASTE_LINES: Final = 6
PASTE_CHARS: Final = 1000
"""From so many lines or characters on, a pasted text stands in the input as a mark."""
FILE_CHARS: Final = 100_000
"""Of a file that ``@`` names, at most so much goes into the message (about 25,000 tokens)."""
KEPT_IMAGES: Final = 20
"""Pasted images that are kept for a mark that comes back, from the history of inputs."""
_MARK: Final = re.compile(r"\[pasted text (\d+): [\d,]+ (?:lines|characters)\]")
_IMAGE: Final = re.compile(r"\[image (\d+)(?:: [^\]\n]*)?\]")
_FILE: Final = re.compile(r"(?<!\S)@(\"[^\"]+\"|\S+)")


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A message, and lines for the person about what goes along with it."""

    message: Message
    notes: tuple[str, ...] = ()

    @property
    def has_image(self) -> bool:
        """True where it is more than text."""
        return any(not isinstance(part, TextPart) for part in self.message.parts)


class Pastes:
    """What was pasted in this conversation: long texts and images, each a mark in the input."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._images: dict[int, Image] = {}
        self._count = 0

    def take(self, text: str) -> str:
        """What to put into the input for a pasted text.

        Raises:
            NotAnImage: it is an image that cannot be sent.
        """
        if image := pasted_image(text):
            return self.add_image(image)
        if files := pasted_files(text):
            return " ".join([self.add_image(read_image(file)) for file in files])
        return self.shorten(text)

    def shorten(self, text: str) -> str:
        """The text, or a mark where it is long."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + 1
        if lines < PASTE_LINES and len(text) < PASTE_CHARS:
            return text
        number = len(self._texts) + 1
        self._texts[number] = text
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        return f"[pasted text {number}: {size}]"

    def add_image(self, image: Image) -> str:
        """Keep an image; its mark."""
        self._count += 1
        self._images[self._count] = image
        if len(self._images) > KEPT_IMAGES:
            del self._images[min(self._images)]
        name = re.sub(r"[\[\]\s]+", " ", image.name).strip()
        return f"[image {self._count}: {name}]"

    def restore(self, draft: str) -> str:
        """The draft with the mark of every text replaced by it; those of images stay."""
        return _MARK.sub(lambda found: self._texts.get(int(found[1]), found[0]), draft)

    def compose(self, text: str, folder: Path) -> Draft:
        """The message: the text as it was typed, behind it the files that it names, then the images."""
        blocks, named, notes = with_files(text, folder)
        images: list[Image] = []
        for number in dict.fromkeys(int(found[1]) for found in _IMAGE.finditer(text)):
            if number in self._images:
                images.append(self._images[number])
            elif f"[image {number}:" in text:  # as we write it, from an earlier session
                notes.append(f"image {number} is not kept any more; only its name is sent.")
        if _MARK.search(text):
            notes.append("A pasted text of an earlier session is not kept; only its mark is sent.")
        images += named
        notes += [f"with {one.name}, {size_of(len(one.data))}" for one in images]
        parts: list[Part] = [TextPart(text), *(TextPart(f"\n\n{block}") for block in blocks)]
        parts += [one.part for one in images]
        return Draft(message=Message(role="user", parts=tuple(parts)), notes=tuple(notes))


def with_files(text: str, folder: Path) -> tuple[list[str], list[Image], list[str]]:
    """The text files that the text names, as blocks; the images; and a note for each text file.

    A word that begins with @ and names no file is left as it is.
    """
    blocks: list[str] = []
    images: list[Image] = []
    notes: list[str] = []
    for word in dict.fromkeys(found[1] for found in _FILE.finditer(text)):
        name = word.strip('"')
        path = _file(name, folder)
        if path is None:
            continue
        if looks_like_image(path):
            try:
                images.append(read_image(path))
            except NotAnImage as error:
                notes.append(f"{error} Only its name is sent.")
            continue
        block, note = _block(name, path)
        notes.append(note)
        blocks += [block] if block else []
    return blocks, images, notes


def _block(name: str, path: Path) -> tuple[str, str]:
    """The file as a block, "" where it is no text; and the note."""
    try:
        with path.open("rb") as file:
            data = file.read(4 * FILE_CHARS + 1)
        body = data.decode("utf-8", "replace" if len(data) > 4 * FILE_CHARS else "strict")
    except (OSError, UnicodeDecodeError):
        return "", f"{name} is no text that can be read; only its name is sent."
    said = f" (its first {FILE_CHARS:,} characters)" if len(body) > FILE_CHARS else ""
    body = body[:FILE_CHARS]
    block = f'<file path="{name}">\n{body.rstrip()}\n</file>'
    return block, f"with {name}, {len(body):,} characters{said}"


def _file(name: str, folder: Path) -> Path | None:
    for one in (name, name.rstrip(".,;:!?)")):
        try:
            path = folder / Path(one).expanduser()
            if one and path.is_file():
                return path
        except (OSError, RuntimeError, ValueError):
            continue
    return None
