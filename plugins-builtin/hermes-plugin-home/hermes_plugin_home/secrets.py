"""hermes.yaml without the secrets that are written in it."""

from __future__ import annotations

import re
from collections.abc import Callable

from hermes_plugins import REDACTION_MARK

_NAMED = re.compile(
    r"(?im)^([^#\n]*?(?:[\w-]*(?:api_?key|token(?!s)|secret(?!s)|passw\w*|authorization)[\w-]*|\bkey)"
    r"[\"']?\s*:[ \t]+)(?![\[{|>&*!#]|\"\"|''|[\"']?\$\{|(?:null|~|true|false)\b|\d+\s*(?:[,}#]|$))"
    r"(\"[^\"\n]+\"|'[^'\n]+'|[^\s,}#][^,}#\n]*)"
)
_MASK = re.compile(rf"[\"']?{re.escape(REDACTION_MARK)}[^»]*»[\"']?")


def without_secrets(text: str, redact: Callable[[str], str]) -> tuple[str, int]:
    """``text`` with "" in the place of each secret, and how many there were.

    A secret is what stands under a name such as ``api_key``, and what `redact` knows as one.
    """
    count = 0
    again = True
    while again:  # several may stand in one line
        text, found = _NAMED.subn(r'\1""', text)
        count += found
        again = bool(found)
    text, found = _MASK.subn('""', redact(text))
    return text, count + found
