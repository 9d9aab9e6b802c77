"""Looks for text in files that tries to give orders to the model, or to hide from the reader.

Used on project context files and memory before they become part of the prompt. It finds what is
plain; it is no proof of innocence. Every pattern is bounded, so the time is linear.
"""

from __future__ import annotations

import re
import unicodedata

from hermes_core.patterns import lazy

INVISIBLE = lazy(
    "[\u00ad\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
"""Characters without a shape of their own, apart from the joiners U+200C and U+200D."""

_JOINERS = "\u200c\u200d"
_HIDING = lazy("[\u200b\u202a-\u202e\u2060-\u206f\ufff9-\ufffb]|(?!^)\ufeff")
_TAGS = lazy("(?<!\U0001f3f4)(?<![\U000e0020-\U000e007e])[\U000e0000-\U000e007f]")
"""Tag characters are ordinary in one place only: in a flag, behind U+1F3F4 (UTS 51)."""
_SPLIT_WORD = lazy(f"[A-Za-z][{_JOINERS}]+[A-Za-z]")
_LOOKALIKES = str.maketrans("аеорсухіјѕ", "aeopcyxijs")  # Cyrillic letters that look Latin

_PATTERNS = {
    "tells the model to ignore its instructions": (
        r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}?"
        r"\b(?:previous|prior|above|earlier|preceding|system|your|all)\b.{0,30}?"
        r"\b(?:instructions?|prompts?|rules|guidelines|directives?|constraints)\b"
    ),
    "gives the model another identity": (
        r"\byou are now (?:in )?(?:\w+ )?(?:dan\b|jailbroken|unrestricted|developer mode|root\b)"
        r"|\b(?:act|pretend|behave) as (?:if|though) you (?:have|had) no "
        r"(?:restrictions|rules|limits|guidelines)\b"
    ),
    "tells the model to hide something from the person": (
        r"\b(?:do not|don't|never|without) (?:tell|telling|inform|informing|mention|mentioning|"
        r"reveal|show|alert|notify)(?:ing)? (?:this |it |anything )?(?:to )?(?:the )?(?:user|owner)\b"
    ),
    "asks for the system prompt": (
        r"\b(?:reveal|print|output|repeat|show|leak)\b.{0,20}?\b(?:system prompt|hidden instructions)\b"
    ),
    "sends secrets away": (
        r"\b(?:curl|wget|fetch|post|send|upload)\b.{0,80}?"
        r"(?:\$\{?\w*(?:key|token|secret|password)\w{0,20}|\.env\b|id_rsa|\.ssh/)"
    ),
    "imitates the marks between messages": (
        r"<\|(?:im_start|im_end|system|assistant|user|endoftext)\|>|\[/?inst\]|<</?sys>>"
    ),
}
_COMPILED = {finding: lazy(pattern) for finding, pattern in _PATTERNS.items()}


def scan_text(text: str) -> list[str]:
    """What is suspicious about ``text``, one line a finding; nothing for ordinary text."""
    findings = []
    if hiding := _HIDING.search(text) or _TAGS.search(text):
        findings.append(f"has invisible control characters (U+{ord(hiding[0]):04X})")
    if _SPLIT_WORD.search(text):
        findings.append("has words split by invisible joiners")
    plain = INVISIBLE.sub("", text.translate(dict.fromkeys(map(ord, _JOINERS))))
    plain = unicodedata.normalize("NFKC", plain).casefold().translate(_LOOKALIKES)
    plain = re.sub(r"\s+", " ", plain)
    findings += [finding for finding, pattern in _COMPILED.items() if pattern.search(plain)]
    return findings
