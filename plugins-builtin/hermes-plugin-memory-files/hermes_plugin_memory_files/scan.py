"""Hostile text in an entry: what is written today is read by the model in every later session.

It looks for characters that a person cannot see, and for phrases that try to give orders. The second
is an aid and finds only the clumsy: a memory is also kept safe by being shown to its owner. Joiners in
Persian or Indic words and in emoji, and the marks of right-to-left scripts, are ordinary text.
"""

from __future__ import annotations

import re
import unicodedata

# Zero-width space, word joiner, BOM, Mongolian separator, invisible operators, deprecated format
# characters, interlinear anchors, object replacement's kin. (Unicode 16, category Cf.)
_INVISIBLE = re.compile("[\u200b\u2060-\u2064\u206a-\u206f\ufeff\u180e\ufff9-\ufffb]")
# Embeddings, overrides and isolates reorder what is shown (CVE-2021-42574).
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
# Joiners between two Latin letters or digits, or several in a row, hide or split words.
_JOINER = re.compile("(?<=[0-9A-Za-z])[\u200c\u200d](?=[0-9A-Za-z])|[\u200c\u200d]{2,}")
# Tag characters and runs of variation selectors carry hidden bytes; a flag such as Scotland's is
# U+1F3F4, up to six tags and U+E007F (UTS #51).
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e007a]{3,6}\U000e007f")
_HIDDEN = re.compile("[\U000e0000-\U000e007f]|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

_CHARACTERS = (
    (_INVISIBLE, "an invisible character"),
    (_BIDI, "a character that reorders text"),
    (_JOINER, "a joiner inside a Latin word"),
    (_HIDDEN, "hidden characters"),
    (_CONTROL, "a control character"),
)

_EARLIER = r"(?:previous|prior|above|earlier|preceding|original|initial|system|your|existing)"
_ORDERS = r"(?:instructions?|prompts?|rules?|guidelines?|directives?|messages?)"
_PHRASES = tuple(
    (re.compile(pattern), what)
    for pattern, what in (
        (
            r"\b(?:ignore|disregard|forget|override|bypass)\s+(?:\w+\s+){0,3}"
            rf"{_EARLIER}\s+(?:\w+\s+)?{_ORDERS}\b",
            "an order to drop instructions",
        ),
        (
            r"\b(?:ignore|disregard|forget)\s+(?:all|any)\s+(?:of\s+)?(?:the\s+)?instructions\b",
            "an order to drop instructions",
        ),
        (
            r"\byou\s+are\s+(?:now|no\s+longer)\s+(?:\w+\s+){0,3}"
            r"(?:dan|jailbroken|unrestricted|unfiltered|developer\s+mode|bound|restricted)\b",
            "an order to change roles",
        ),
        (
            r"\b(?:do\s+not|don't|don’t|never)\s+(?:tell|inform|alert)\s+(?:the\s+)?"
            r"(?:user|owner|person|human)\b",
            "an order to hide something from the person",
        ),
        (
            r"\b(?:reveal|print|repeat|output|leak|send)\s+(?:\w+\s+){0,2}"
            r"(?:system\s+prompt|initial\s+instructions|hidden\s+instructions)\b",
            "an order to reveal the prompt",
        ),
        (
            r"<\|(?:im_start|im_end|system|user|assistant|endoftext)\b|\[/?inst\]|<</?sys>>"
            r"|</?\s*(?:system|memory|assistant)\s*>",
            "a mark that ends or begins a part of the prompt",
        ),
        (
            r"\b(?:curl|wget|invoke-webrequest)\b[^\n]{0,200}"
            r"\$\{?\w*(?:key|token|secret|password)",
            "a command that sends a secret away",
        ),
    )
)


def findings(text: str) -> list[str]:
    """What is wrong with ``text``, one phrase each; empty when nothing is."""
    found = []
    plain = _FLAG.sub("", text)
    for pattern, what in _CHARACTERS:
        if match := pattern.search(plain):
            found.append(f"{what} (U+{ord(match[0][0]):04X})")
    # Full-width and other compatibility letters fold to plain ones; what is not seen is taken out.
    folded = unicodedata.normalize("NFKC", text).casefold()
    folded = "".join(char for char in folded if unicodedata.category(char) != "Cf")
    for pattern, what in _PHRASES:
        if (match := pattern.search(folded)) and not any(what in known for known in found):
            found.append(f"{what} ({' '.join(match[0].split())[:60]!r})")
    return found
