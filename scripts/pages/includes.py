"""Code in the hand-written pages: each Python block is a file of docs/examples, word for word.

``<!-- file: docs/examples/… -->`` stands on the line before the block; the text of the block is the
file's. ``generate_docs.py`` writes it there again when the file changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"^<!-- file: (?P<path>\S+) -->\n(?P<fence>```)(?P<language>\w+)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def pages() -> list[Path]:
    """README.md and every page of docs/ that is written by hand or made."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]


def filled(text: str) -> str:
    """The page with the files as they are now."""

    def block(match: re.Match[str]) -> str:
        code = (ROOT / match["path"]).read_text(encoding="utf-8")
        return f"<!-- file: {match['path']} -->\n```{match['language']}\n{code}```"

    return BLOCK.sub(block, text)


def included() -> Iterator[tuple[Path, str]]:
    """Each page that includes files, with its text as it should be."""
    for path in pages():
        text = path.read_text(encoding="utf-8")
        if BLOCK.search(text):
            yield path, filled(text)
