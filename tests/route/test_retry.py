"""How long to wait before a model is asked again."""

import pytest

from hermes_core.route.retry import RetryPolicy, asked_wait, delay, wait_text

POLICY = RetryPolicy()
NOW = 784_111_777.0  # 1994-11-06 08:49:37 UTC
MODERN = 1_800_000_000.0


def waited(attempt: int, headers: dict[str, str], *, chance: float = 0.0) -> float | None:
    return delay(POLICY, attempt, headers=headers, random=lambda: chance, now=NOW)


def test_the_backoff_doubles_up_to_its_cap_with_up_to_half_of_jitter() -> None:
    assert [waited(attempt, {}) for attempt in (1, 2, 3, 5, 6, 5000)] == [2, 4, 8, 32, 60, 60]
    assert waited(1, {}, chance=1.0) == 3
    assert waited(6, {}, chance=1.0) == 90


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Sun, 06 Nov 1994 08:50:07 GMT"}, 30),
        ({"retry-after": "Sun, 06 Nov 1994 08:00:00 GMT"}, 0),
        ({"x-ratelimit-reset": "12"}, 12),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m30.5s"}, 90.5),
        ({"x-ratelimit-remaining-tokens": "5", "x-ratelimit-reset-tokens": "6m0s"}, None),
        ({"x-ratelimit-reset-requests": "120ms"}, None),
        ({"anthropic-ratelimit-requests-remaining": "0",
          "anthropic-ratelimit-requests-reset": "1994-11-06T08:49:47Z"}, 10),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "Sun, 99 Nov 1994 08:50:07 GMT"}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_the_servers_word_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_wait(headers, now=NOW) == seconds


@pytest.mark.parametrize("value", ["1800000020", "1800000020000"])
def test_a_reset_may_be_a_moment_in_seconds_or_milliseconds(value: str) -> None:
    assert asked_wait({"X-RateLimit-Reset": value}, now=MODERN) == 20


def test_the_servers_word_counts_before_the_backoff() -> None:
    assert waited(3, {"retry-after": "1"}) == 1
    assert waited(1, {"retry-after": "120"}) == 120


def test_nothing_waits_longer_than_two_minutes() -> None:
    assert waited(1, {"retry-after": "121"}) is None


def test_a_wait_of_nothing_still_backs_off() -> None:
    assert waited(1, {"retry-after": "0"}) == 2


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "in 1 seconds"), (45, "in 45 seconds"), (240, "in 4 minutes"), (7300, "in 2 hours"),
     (400_000, "in 5 days")],
)  # fmt: skip
def test_a_wait_in_words(seconds: float, text: str) -> None:
    assert wait_text(seconds) == text
