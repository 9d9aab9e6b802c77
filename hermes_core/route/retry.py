"""How long to wait before a model is asked again.

A server's own word counts before ours: Retry-After (RFC 9110 10.2.3, seconds or a date),
retry-after-ms, or the reset of a rate limit that is used up. Nobody waits longer than `MAX_WAIT`;
the caller then fails over, and `wait_text` says until when.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import msgspec

MAX_WAIT = 120.0
"""Seconds; a longer wait is not worth having a person sit there."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DATE = r"[A-Za-z]{3}, ([0-9]{2}) ([A-Za-z]{3}) ([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) GMT"
_DURATION = r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|[smhd]))+"
_PART = r"([0-9]+(?:\.[0-9]+)?)(ms|[smhd])"
_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,9})?"
_LIMITS = r"(?:x-|anthropic-)?ratelimit-(?:(.+)-)?reset(?:-(.+))?"


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """``attempts`` counts the first one; ``base`` and ``cap`` are seconds of the backoff."""

    attempts: int = 3
    base: float = 2.0
    cap: float = 60.0


def delay(
    policy: RetryPolicy,
    attempt: int,
    *,
    headers: Mapping[str, str],
    random: Callable[[], float],
    now: float,
) -> float | None:
    """Seconds to wait after failed attempt ``attempt`` (1 is the first); None: do not wait.

    The backoff is min(base * 2^(attempt-1), cap) plus up to half of that. ``random`` returns 0 to 1,
    ``now`` is seconds since the epoch.
    """
    asked = asked_wait(headers, now=now)
    if asked:
        return asked if asked <= MAX_WAIT else None
    plain: float = min(policy.base * 2.0 ** (min(max(attempt, 1), 60) - 1), policy.cap)
    return plain + random() * 0.5 * plain


def asked_wait(headers: Mapping[str, str], *, now: float) -> float | None:
    """Seconds that the server asks to wait, None where it does not say."""
    lower = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds = lower.get("retry-after-ms", "")
    if re.fullmatch(_NUMBER, milliseconds):
        return float(milliseconds) / 1000
    asked = _seconds(lower.get("retry-after", ""), now)
    if asked is not None:
        return asked
    waits = [_seconds(value, now) for name, value in lower.items() if _is_spent(name, lower)]
    return max((wait for wait in waits if wait is not None), default=None)


def wait_text(seconds: float) -> str:
    """A wait in words, such as ``in 4 minutes``."""
    if seconds < 90:
        return f"in {max(1, round(seconds))} seconds"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"in {minutes} minutes"
    hours = round(seconds / 3600)
    return f"in {hours} hours" if hours < 48 else f"in {round(seconds / 86400)} days"


def _is_spent(name: str, headers: Mapping[str, str]) -> bool:
    """Whether ``name`` is the reset of a limit of which nothing remains.

    Servers send the resets of all their limits with every answer; only that of the spent one
    matters. A limit that does not tell what remains counts as spent.
    """
    found = re.fullmatch(_LIMITS, name)
    if found is None:
        return False
    remaining = headers.get(name.replace("reset", "remaining"))
    bare = not (found[1] or found[2])
    return remaining == "0" or (remaining is None and bare)


def _seconds(value: str, now: float) -> float | None:
    """Read a wait: seconds, a duration (``6m0s``), a moment since the epoch, or a date."""
    if re.fullmatch(_NUMBER, value):
        number = float(value)
        if number > 1e11:  # milliseconds since the epoch
            return max(0.0, number / 1000 - now)
        return max(0.0, number - now) if number > 1e9 else number
    if re.fullmatch(_DURATION, value):
        return sum(float(count) * _UNITS[unit] for count, unit in re.findall(_PART, value))
    moment = _moment(value)
    return None if moment is None else max(0.0, moment - now)


def _moment(value: str) -> float | None:
    found = re.fullmatch(_DATE, value)
    try:
        if found is None:
            parsed = datetime.fromisoformat(value)
            return parsed.timestamp() if parsed.tzinfo is not None else None
        day, month, *rest = found.groups()
        year, hour, minute, second = map(int, rest)
        number = _MONTHS.index(month.lower()) + 1
        moment = datetime(year, number, int(day), hour, minute, min(second, 59), tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return moment.timestamp()
