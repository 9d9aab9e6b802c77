"""Says what an error of a model provider means and what can be done about it.

The tables of ``reasons.py`` are the defaults; a profile adds its vendor's wordings
(`ProviderProfile.error_words`) or decides itself (`ProviderProfile.classify`). Both may name a
reason that is not in `REASONS`; it then behaves like ``unknown``. Order: what the transport or the
dialect said, the profile's function, the profile's words, telling words, status, general words.

The server's own words are shown, cut to one line; redacting them is the caller's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from hermes_core.route.reasons import (
    GENERAL_WORDS,
    OUTPUT_LIMIT,
    OUTPUT_TOO_LARGE,
    REASONS,
    STATUS,
    SUMS,
    TELLING_WORDS,
)
from hermes_plugins._errors import ProviderError
from hermes_plugins._providers import ProviderProfile

SHOWN_WORDS = 300
"""Characters of the server's words in a text for people."""
CROWDED = 0.9
"""Share of the window from which a connection cut before any answer is taken for an overflow."""
LEAST_ROOM = 1000
"""Tokens of answer; with less room than this, lowering the output allowance does not help."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """What an error means.

    ``compress`` asks for a shorter prompt, ``rotate`` for another key, ``fallback`` for another
    model. ``output_limit`` is the largest output allowance that would fit, 0 where the server did
    not tell. ``user_text`` is one line; ``hint`` names the command to use next.
    """

    reason: str
    retryable: bool
    compress: bool = False
    rotate: bool = False
    fallback: bool = False
    output_limit: int = 0
    user_text: str = ""
    hint: str = ""


def classify(
    error: ProviderError,
    *,
    profile: ProviderProfile | None = None,
    model: str = "",
    url: str = "",
    address: str = "",
    window: int = 0,
    prompt_tokens: int = 0,
) -> Failure:
    """Say what ``error`` means.

    ``url`` is where the request went, ``address`` the setting or variable that says so ("": the
    profile itself); both are shown where they may be the mistake.
    ``window`` and ``prompt_tokens`` (an estimate) may be 0, unknown: a connection that breaks under
    a nearly full window is an overflow that the server did not name.
    """
    words = f"{error.message}\n{error.body}\n{_said(_error_object(error.body))}".lower()
    reason = _reason_of(error, words, profile)
    crowded = 0 < window * CROWDED <= prompt_tokens
    if reason == "connection" and crowded and "no connection" not in words:
        reason = "context_overflow"
    limit = 0
    if reason in ("context_overflow", "output_too_large"):
        reason, limit = _overflow(reason, words)
    row = REASONS.get(reason, REASONS["unknown"])
    what, hint, detail = row.text, row.hint, ""
    if reason == "model_not_found" and model:
        detail = f" {model}"
    elif reason == "endpoint_not_found" and url:
        detail = f" {url.partition('?')[0]}"  # a query may hold a key
    elif reason == "connection" and "no connection" not in words:
        what, hint = "broke the connection", REASONS["cut"].hint
    elif reason == "context_overflow" and window:
        detail = f" for the window of {window:,} tokens"
    name = (profile.name or profile.id) if profile is not None else "The provider"
    place = _address_hint(profile, address, reached=reason != "connection")
    return Failure(
        reason=reason,
        retryable="R" in row.flags if error.retryable is None else error.retryable,
        compress="C" in row.flags,
        rotate="K" in row.flags,
        fallback="F" in row.flags,
        output_limit=limit,
        user_text=_user_text(error, name, what + detail),
        hint=error.hint or hint.format(key=_key_name(profile), address=place),
    )


def _reason_of(error: ProviderError, words: str, profile: ProviderProfile | None) -> str:
    if error.reason:
        return error.reason
    if profile is not None:
        told = profile.classify(error) if profile.classify is not None else ""
        told = told or _first(tuple(profile.error_words.items()), words)
        if told:
            return told
    if re.search(OUTPUT_TOO_LARGE, words):
        return "output_too_large"
    told = _first(TELLING_WORDS, words)
    return told or _by_status(_status_of(error), words) or _first(GENERAL_WORDS, words) or "unknown"


def _first(table: tuple[tuple[str, str], ...], words: str) -> str:
    return next((reason for text, reason in table if text.lower() in words), "")


def _status_of(error: ProviderError) -> int:
    """The HTTP status, or the code that an error inside a 200 answer carries."""
    if error.status >= 400:
        return error.status
    inner = _error_object(error.body)
    code = inner.get("code", inner.get("status"))
    if isinstance(code, str) and code.isdecimal():
        code = int(code[:4])
    return code if isinstance(code, int) and 400 <= code < 600 else 0


def _by_status(status: int, words: str) -> str:
    if status == 404 and ("model" in words or "no endpoints found" in words) and "<" not in words:
        return "model_not_found"
    if status == 429 and "overload" in words:
        return "overloaded"
    if status == 429 and "upstream" in words:
        return "upstream_rate_limit"
    if status in (400, 422):
        told = _first(GENERAL_WORDS, words)
        if told in ("auth", "model_not_found", "rate_limit", "overloaded"):
            return told
    return STATUS.get(status, "server_error" if status >= 500 else "")


def _overflow(reason: str, words: str) -> tuple[str, int]:
    """Which of the two overflows it is, where the server named the figures, and what fits."""
    plain = re.sub(r"(?<=\d),(?=\d)", "", words)
    for pattern in SUMS:
        found = re.search(pattern, plain)
        if found is not None:
            room = int(found["window"]) - int(found["input"])
            return ("output_too_large", room) if room >= LEAST_ROOM else ("context_overflow", 0)
    found = re.search(OUTPUT_LIMIT, plain) if reason == "output_too_large" else None
    return reason, int(found["limit"]) if found is not None else 0


def _key_name(profile: ProviderProfile | None) -> str:
    return profile.env[0] if profile is not None and profile.env else "model.api_key"


def _address_hint(profile: ProviderProfile | None, address: str, *, reached: bool) -> str:
    """Where to look when an address does not serve: at what gave it, else at the server."""
    if "." in address:
        return f"Check the address: hermes config set {address} URL (many end in /v1)"
    if address:
        return f"Check the address in the variable {address} (many end in /v1)"
    name = profile.id if profile is not None else "NAME"
    other = f"To use another address: hermes config set providers.{name}.base_url URL"
    if reached:
        return other
    is_local = profile is not None and profile.local
    return f"{'Is it running?' if is_local else 'Check the network.'} {other}"


def _user_text(error: ProviderError, name: str, what: str) -> str:
    status = f" (HTTP {error.status})" if error.status >= 400 else ""
    words = server_words(error)
    return f"{name} {what}{status}: {words}" if words else f"{name} {what}{status}."


def server_words(error: ProviderError) -> str:
    """What the server said, as one line of at most `SHOWN_WORDS` characters."""
    body = error.body.strip()
    said = _said(_error_object(body))
    if not said and "<" in body[:1]:
        title = re.search(r"<title[^>]*>(.*?)</title", body, re.IGNORECASE | re.DOTALL)
        said = f"a web page titled {title[1].strip()!r}" if title else "a web page"
    line = " ".join((said or body or error.message).split())
    return line if len(line) <= SHOWN_WORDS else line[: SHOWN_WORDS - 1] + "…"


def _said(inner: Mapping[str, object]) -> str:
    texts = (inner.get(key) for key in ("message", "error_message", "detail", "error", "msg"))
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def _error_object(body: str) -> dict[str, object]:
    """The innermost object that describes the error: ``{"error": {...}}``, ``[{...}]``, bare."""
    try:
        found: object = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return {}
    for _ in range(3):
        if isinstance(found, list) and found:
            found = found[0]
        elif isinstance(found, dict) and isinstance(found.get("error"), dict):
            found = found["error"]
    return found if isinstance(found, dict) else {}
