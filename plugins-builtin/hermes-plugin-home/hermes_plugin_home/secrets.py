"""hermes.yaml without the secrets that are written in it."""

from __future__ import annotations

import re
from collections.abc import Callable

from hermes_plugins import REDACTION_MARK

_PAIR = re.compile(
    r"(?<![\w-])([\w-]+)([\"']?\s*:[ \t]+)(\"[^\"\n]+\"|'[^'\n]+'|[^\s,}\[{|>&*!#\"'][^,}#\n]*)"
)
_SECRET = re.compile(r"(?i)api_?key|token(?!s)|secret(?!s)|passw|authorization|^key$")
_HARMLESS = re.compile(r"[\"']?\$\{|(?:null|~|true|false|\d+)\s*$")
_MASK = re.compile(rf"[\"']?{re.escape(REDACTION_MARK)}[^»\n]*»[\"']?")


def without_secrets(text: str, redact: Callable[[str], str]) -> tuple[str, int]:
    """``text`` with "" in the place of each secret, and how many there were.

    A secret is what stands under a name such as ``api_key``, and what ``redact`` knows as one.
    """
    count = 0

    def empty(match: re.Match[str]) -> str:
        nonlocal count
        name, between, value = match.groups()
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if not _SECRET.search(name) or _HARMLESS.match(value) or line.lstrip().startswith("#"):
            return match[0]
        count += 1
        rest = "" if value[0] in "\"'" else value[len(value.rstrip()) :]
        return f'{name}{between}""{rest}'

    shown, found = _MASK.subn('""', redact(_PAIR.sub(empty, text)))
    return shown, count + found
