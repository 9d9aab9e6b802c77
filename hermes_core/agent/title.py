"""What a session is called until somebody names it: the first thing the person said, in short."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from hermes_core.agent.cleaning import clean_output
from hermes_plugins._messages import Message

TITLE_CHARS: Final = 60

_THOUGHTS: Final = re.compile(
    r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_MARKUP: Final = re.compile(r"^\s*(?:[#>*+-]+\s+|`{3,}\w*|\d+[.)]\s+)+|[*_`]{2,}|`")


def title_of(messages: Sequence[Message]) -> str:
    """The first line that the person wrote, without markup, cut at a word; "" where there is none."""
    for message in messages:
        if message.role != "user" or message.meta.get("steer"):
            continue
        for line in _THOUGHTS.sub("", clean_output(message.text)).splitlines():
            if text := " ".join(_MARKUP.sub("", line).split()):
                return _cut(text)
    return ""


def _cut(text: str) -> str:
    if len(text) <= TITLE_CHARS:
        return text
    whole, space, _ = text[:TITLE_CHARS].rpartition(" ")
    # One endless word (a path, Chinese) has no better place to be cut than the limit.
    kept = whole if space and len(whole) > TITLE_CHARS // 2 else text[: TITLE_CHARS - 1]
    return kept.rstrip(" ,;:.") + "…"
