"""What is typed becomes a message: pasted text comes back in whole, ``@file`` brings its text along."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

PASTE_LINES: Final = 6
PASTE_CHARS: Final = 1000
"""From so many lines or characters on, a pasted text stands in the input as a mark."""
FILE_CHARS: Final = 100_000
"""Of a file that ``@`` names, at most so much goes into the message (about 25,000 tokens)."""
_MARK: Final = re.compile(r"\[pasted text (\d+): [\d,]+ (?:lines|characters)\]")
_FILE: Final = re.compile(r"(?<!\S)@(\"[^\"]+\"|\S+)")


class Pastes:
    """The long texts that were pasted into one draft."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}

    def shorten(self, text: str) -> str:
        """What to put into the input for a pasted text."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + 1
        if lines < PASTE_LINES and len(text) < PASTE_CHARS:
            return text
        number = len(self._texts) + 1
        self._texts[number] = text
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        return f"[pasted text {number}: {size}]"

    def restore(self, draft: str) -> str:
        """The draft with every mark replaced by its text."""
        return _MARK.sub(lambda found: self._texts.get(int(found[1]), found[0]), draft)


def with_files(text: str, folder: Path) -> tuple[str, list[str]]:
    """The message with the text of the files that it names behind it, and a note for each of them.

    A word that begins with @ and names no file is left as it is.
    """
    blocks: list[str] = []
    notes: list[str] = []
    for word in dict.fromkeys(found[1] for found in _FILE.finditer(text)):
        name = word.strip('"')
        path = _file(name, folder)
        if path is None:
            continue
        try:
            with path.open("rb") as file:
                data = file.read(4 * FILE_CHARS + 1)
            body = data.decode("utf-8", "replace" if len(data) > 4 * FILE_CHARS else "strict")
        except (OSError, UnicodeDecodeError):
            notes.append(f"{name} is no text that can be read; only its name is sent.")
            continue
        cut = len(body) > FILE_CHARS
        body = body[:FILE_CHARS]
        said = f" (its first {FILE_CHARS:,} characters)" if cut else ""
        blocks.append(f'<file path="{name}">\n{body.rstrip()}\n</file>')
        notes.append(f"with {name}, {len(body):,} characters{said}")
    return "\n\n".join([text, *blocks]), notes


def _file(name: str, folder: Path) -> Path | None:
    for one in (name, name.rstrip(".,;:!?)")):
        try:
            path = folder / Path(one).expanduser()
            if one and path.is_file():
                return path
        except (OSError, RuntimeError, ValueError):
            continue
    return None
