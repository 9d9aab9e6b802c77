"""One layer that hides secrets: for tool results, logs, dumps and chat.

Two kinds: what looks like a secret (vendors' key formats, assignments, headers, connection strings,
private keys) and exact values that the host knows. A mask shows at most the first 6 and last 4
characters, and is recognisable, so that a file tool can refuse to write one back.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

from hermes_core.patterns import lazy
from hermes_plugins._redaction import REDACTION_MARK
from hermes_plugins._redaction import contains_mask as contains_mask

_SHOWN_FROM = 18
"""Shorter secrets are hidden whole: ten characters of them would be most of them."""

_NAMES = (
    r"(?:[\w.-]*[_.-])?(?:api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|"
    r"(?:[a-z]+[_-]?)?token|[a-z]*secret|[a-z]*password|passwd|passphrase|credentials?)"
)
_TOKEN = lazy(
    r"(?<![A-Za-z0-9])(?:sk-[\w-]{16,}|[rs]k_(?:live|test)_\w{8,}|gh[oprsu]_\w{16,}|"
    r"github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abceoprs]-[\w-]{10,}|xapp-[\w-]{10,}|"
    r"AIza[\w-]{30,}|A(?:KIA|SIA)[A-Z0-9]{16}|hf_\w{16,}|npm_\w{30,}|pypi-[\w-]{30,}|"
    r"xai-[\w-]{20,}|gsk_\w{20,}|r8_\w{20,}|pplx-\w{20,}|dop_v1_\w{20,}|"
    r"SG\.[\w-]{16,}\.[\w-]{16,}|whsec_\w{16,}|ya29\.[\w-]{20,}|tvly-[\w-]{16,}|"
    r"nvapi-[\w-]{20,}|lin_api_\w{16,}|shp(?:at|ss|ca)_\w{16,}|dckr_pat_[\w-]{16,}|ntn_\w{20,}|"
    r"AGE-SECRET-KEY-1\w{20,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?|\d{8,10}:AA[\w-]{30,})"
)
_TOKEN_SIGNS = (
    "sk-", "k_live_", "k_test_", "gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_", "glpat-",
    "xox", "xapp-", "AIza", "AKIA", "ASIA", "hf_", "npm_", "pypi-", "xai-", "gsk_", "r8_", "pplx-",
    "dop_v1_", "SG.", "whsec_", "ya29.", "tvly-", "nvapi-", "lin_api_", "shp", "dckr_pat_", "ntn_",
    "AGE-SECRET", "eyJ", ":AA", "://",
)  # fmt: skip
_TOKENISH = lazy(r"[-_.:][\w-]{9}|AIza|A[KS]IA|://")
"""The fast way out: none of the formats above is without one of these."""

_PRIVATE_KEY = lazy(
    r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_CONNECTION = lazy(r"(://[^\s:/@\"'«]{0,256}:)([^\s/\"'@«]{1,256})(?=@)")
_HEADER = lazy(
    r"(\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?(?:(?:bearer|basic|token)\s+)?"
    r"|\b(?:set-)?cookie[\"']?\s*:\s*[\"']?|\bbearer\s+(?=[^\s\d]{0,64}\d))([^\s\"',;«]{8,})",
    re.IGNORECASE,
)
_FIELD = lazy(
    rf"((?<![\w.-])[\"']?{_NAMES}\\?[\"']?[ \t]*(?::|==?)[ \t]*)"
    r"(\\?\"[^\"\\\n«]+|'[^'\n«]+|[^\s\"'`,;&|(){}\[\]<>«]++(?!\())",
    re.IGNORECASE,
)
_VARIABLE = lazy(
    r"((?<![\w.])[A-Z][A-Z0-9_]*(?:_KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS|_AUTH|_DSN)=)"
    r"(\"[^\"\n«]+|'[^'\n«]+|[^\s\"'`,;&|(){}\[\]<>«]++(?!\())"
)
_WORD_SIGNS = (
    "_key", "-key", "apikey", "accesskey", "token", "secret", "passw", "passphrase", "credential",
    "_auth=", "_dsn=", "bearer", "authorization", "cookie",
)  # fmt: skip
_HARMLESS = lazy(
    r"[\"'\\]*(?:[$%<{*]|«|\.{3}|https?://|your[_-]|x{3,}"
    r"|(?:true|false|none|null|undefined|str|string|bytes|int|bool|any|optional|\d{1,5})\W*$)",
    re.IGNORECASE,
)
_LOOKS_SECRET = lazy(r"[0-9!@#%^&*+/=~]|\w-\w")
_OPEN = lazy(
    rf"(?:{_NAMES}|authorization|cookie)\\?[\"']?\s*(?:[:=]=?\s*(?:(?:bearer|basic|token)\s+)?)?$"
    r"|\bbearer\s+$",
    re.IGNORECASE,
)
"""The end of a text where a value may follow that is to be masked."""
_MAX_HELD = 16_000


def redact(text: str) -> str:
    """``text`` with everything that looks like a secret masked."""
    if "-----BEGIN" in text:
        text = _PRIVATE_KEY.sub(lambda match: mask(""), text)
    pieces = []
    done = 0
    for start in sorted(_suspicious_lines(text)):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        pieces += [text[done:start], _redact_line(text[start:end])]
        done = end
    return "".join([*pieces, text[done:]]) if pieces else text


def _suspicious_lines(text: str) -> set[int]:
    """Where the lines begin that hold a sign of a secret; plain searches, for they are fast."""
    lowered = text.lower() if ":" in text or "=" in text or "earer" in text else ""
    if len(lowered) != len(text) and lowered:  # a few letters grow in lower case
        return {0, *(at + 1 for at, char in enumerate(text) if char == "\n")}
    found: set[int] = set()
    token_signs = _TOKEN_SIGNS if _TOKENISH.search(text) else ()
    for haystack, signs in ((text, token_signs), (lowered, _WORD_SIGNS)):
        for sign in signs:
            at = haystack.find(sign)
            while at >= 0:
                found.add(text.rfind("\n", 0, at) + 1)
                end = text.find("\n", at)
                at = haystack.find(sign, end) if end >= 0 else -1
    return found


def _redact_line(line: str) -> str:
    line = _CONNECTION.sub(lambda match: match[1] + mask(match[2]), line)
    line = _TOKEN.sub(lambda match: mask(match[0]), line)
    line = _HEADER.sub(_mask_header, line)
    line = _FIELD.sub(_mask_field, line)
    return _VARIABLE.sub(_mask_variable, line)


def mask(secret: str) -> str:
    """What stands in place of ``secret``; tools that write files refuse it."""
    if len(secret) < _SHOWN_FROM:
        return f"{REDACTION_MARK}»"
    head, tail = (re.sub(r"[\s«»]", "*", part) for part in (secret[:6], secret[-4:]))
    return f"{REDACTION_MARK}:{head}***{tail}»"


def _mask_header(match: re.Match[str]) -> str:
    plain = _HARMLESS.match(match[2]) or not _LOOKS_SECRET.search(match[2])
    return match[0] if plain else match[1] + mask(match[2])


def _mask_field(match: re.Match[str]) -> str:
    before, value = match.groups()
    quoted = value.lstrip("\\")[:1] in ("'", '"')
    if _HARMLESS.match(value) or (quoted and (" " in value or len(value) < 5)):
        return match[0]
    if not quoted and (len(value) < 6 or not _LOOKS_SECRET.search(value)):
        return match[0]
    return before + _mask_value(value)


def _mask_variable(match: re.Match[str]) -> str:
    return match[0] if _HARMLESS.match(match[2]) else match[1] + _mask_value(match[2])


def _mask_value(value: str) -> str:
    bare = value.lstrip("\\\"'")
    return value[: len(value) - len(bare)] + mask(bare)


class Redactor:
    """`redact`, and exact values that this host knows to be secret (6 characters or more)."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = sorted({one for one in secrets if len(one) >= 6}, key=len, reverse=True)

    def redact(self, text: str) -> str:
        """``text`` without secrets."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, mask(secret))
        return redact(text)


class StreamRedactor:
    """Redacts text that arrives in pieces: ``feed`` returns what is safe to show so far.

    The last word is held back, and with it a name whose value has not come yet; a private key until
    its end, at most 16,000 characters.
    """

    def __init__(self, redactor: Redactor | None = None) -> None:
        self._redact = (redactor or Redactor()).redact
        self._held = ""

    def feed(self, text: str) -> str:
        """Take more text; return what can no longer become part of a secret."""
        held = self._held + text
        cut = self._safe_length(held)
        self._held = held[cut:]
        return self._redact(held[:cut]) if cut else ""

    def flush(self) -> str:
        """The rest, at the end of the stream."""
        held, self._held = self._held, ""
        return self._redact(held)

    def _safe_length(self, held: str) -> int:
        space = max(held.rfind(" "), held.rfind("\n"), held.rfind("\t")) + 1
        if space == 0:
            return len(held) if len(held) > _MAX_HELD else 0
        key = held.rfind("-----BEGIN ")
        if key >= 0 and "-----END " not in held[key:]:
            return key if len(held) - key <= _MAX_HELD else len(held)
        line = held.rfind("\n") + 1
        opened = _OPEN.search(held[line:space])
        if opened is None:
            return space
        start = line + opened.start()
        return held.rfind(" ", 0, start) + 1 if start > line else line


class RedactingFormatter(logging.Formatter):
    """Formats a log record and takes the secrets out of all of it, its traceback too."""

    def __init__(
        self,
        fmt: str | None = None,
        datefmt: str | None = None,
        *,
        redactor: Redactor | None = None,
    ) -> None:
        super().__init__(fmt, datefmt)
        self._redact = (redactor or Redactor()).redact

    def format(self, record: logging.LogRecord) -> str:
        """The line, redacted."""
        return self._redact(super().format(record))
