"""Cleans text that comes in from people, and text that goes out to a terminal."""

from __future__ import annotations

import msgspec

from hermes_core.patterns import lazy

MAX_INPUT_CHARS = 400_000
"""About 100,000 tokens: more than that belongs into a file."""

_SURROGATE = lazy("[\ud800-\udfff]")
_UNWANTED = lazy("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# ECMA-48: CSI, then the string sequences (OSC, DCS, SOS, PM, APC) up to BEL or ST, then the rest.
_ESCAPE = lazy(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-Z\\^-~]"
)


class Cleaned(msgspec.Struct, frozen=True):
    """Text fit to be stored and sent; ``notes`` are lines for the person."""

    text: str
    notes: tuple[str, ...] = ()


def clean_input(text: str, *, limit: int = MAX_INPUT_CHARS) -> Cleaned:
    """Make what a person sent storable: no control characters but line ends and tabs, no halves of
    character pairs, at most ``limit`` characters. Letters stay as they were written (no NFC)."""
    notes: list[str] = []
    if len(text) > limit:
        notes.append(
            f"The text was cut to {limit:,} of {len(text):,} characters. "
            "Save it as a file and name the file instead."
        )
        text = text[:limit]
    if _SURROGATE.search(text):
        # Two halves that follow each other (some terminals send them so) are one character.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if _UNWANTED.search(text):
        plain = text.replace("\r\n", "\n").replace("\r", "\n")
        text = _UNWANTED.sub("", _ESCAPE.sub("", plain))
        if len(text) < len(plain):
            count = len(plain) - len(text)
            notes.append(f"{count} control character{'s were' if count > 1 else ' was'} taken out.")
    return Cleaned(text, tuple(notes))


def clean_output(text: str) -> str:
    """Take out what could steer a terminal: escape sequences and control characters.

    Works on one piece at a time: of a sequence that is cut between two pieces the harmless rest is
    shown as text.
    """
    if not _UNWANTED.search(text):
        return text
    return _UNWANTED.sub("", _ESCAPE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
