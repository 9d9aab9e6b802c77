"""The mark that stands where a secret was, known to both sides.

The kernel's redaction writes it into what a model reads; tools that write files refuse text that
carries it, because it would replace the real secret with the mask. Nothing else is decided here.
"""

from __future__ import annotations

from typing import Final

REDACTION_MARK: Final = "«redacted"
"""How every mask begins, such as ``«redacted:openai-key»``. Not a prefix of any known secret."""


def contains_mask(text: str) -> bool:
    """True when ``text`` carries a mask in the place of a secret."""
    return REDACTION_MARK in text
