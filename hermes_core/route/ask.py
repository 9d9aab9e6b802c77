"""One model call: send, assemble, retry, classify. Knows no vendor.

Retries happen only while nothing of the answer has been shown: text that a person has read is not
taken back. A stream that ends without saying so is an incomplete answer, said as such; one that
ends at once, or with nothing in it, is asked again after a pause.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import datetime
from functools import partial
from typing import Protocol, cast

import msgspec

from hermes_core.route.assemble import Assembled, Assembler
from hermes_core.route.classify import Failure, classify
from hermes_core.route.credentials import headers_of
from hermes_core.route.pool import Key, KeyPool
from hermes_core.route.pricing import priced
from hermes_core.route.recover import Changes
from hermes_core.route.retry import RetryPolicy, asked_wait, delay, wait_text
from hermes_plugins._clock import Clock
from hermes_plugins._dialects import Delta, Dialect, Endpoint, ModelRequest
from hermes_plugins._errors import ProviderError
from hermes_plugins._providers import ModelInfo, ProviderProfile

NEEDS_ANOTHER_REQUEST = frozenset(
    {
        "context_overflow",
        "long_context_tier",
        "payload_too_large",
        "output_too_large",
        "image_too_large",
        "invalid_encrypted_content",
        "thinking_signature",
        "multimodal_tool_content_unsupported",
        "grammar_pattern",
    }
)
"""Reasons for which the same request only fails again."""
SHORT_WAIT = 15.0
"""Seconds; a longer pause is not made while another model could answer."""
RESCHEDULE_SECONDS = 1.0
"""How exactly the pause between deltas is bounded; moving the limit at each delta costs too much."""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session's requests go. ``label`` is ``provider/model``; ``address`` and ``key`` are the
    settings or the variables that hold those, "" where it is the profile's own, or there is none."""

    profile: ProviderProfile
    model: ModelInfo
    endpoint: Endpoint
    dialect: Dialect
    label: str
    dialect_name: str = ""
    address: str = ""
    keys: KeyPool | None = None
    """None where no key is needed, or where the endpoint has it already."""
    key: str = ""


class Listener(Protocol):
    """Hears what happens during a call. `shown` waits only when its reader is far behind."""

    @property
    def cancelled(self) -> Interruption:
        """Ends the call from outside."""

    def shown(self, text: str, reasoning: str) -> Awaitable[None] | None:
        """More of the answer can be shown."""

    async def failed(self, error: ProviderError, failure: Failure, attempt: int) -> None:
        """An attempt failed."""

    async def retrying(self, failure: Failure, attempt: int, seconds: float) -> None:
        """The next attempt comes after a pause."""

    async def told(self, text: str) -> None:
        """The person should know this: another key or model goes on."""

    def sending(self, request: ModelRequest) -> None:
        """An attempt begins."""


class Interruption(Protocol):
    """What ends a call from outside."""

    def is_set(self) -> bool:
        """True once it should end."""

    async def wait(self) -> None:
        """Return when it should end."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came back. ``failure`` is why there is no (whole) answer; ``interrupted`` wins over it.
    ``shown`` says that some of it was shown, ``label`` who answered."""

    assembled: Assembled
    label: str = ""
    shown: bool = False
    failure: Failure | None = None
    interrupted: bool = False
    attempts: int = 1


async def ask(
    route: Route,
    request: ModelRequest,
    *,
    listener: Listener,
    clock: Clock,
    policy: RetryPolicy,
    token: str = "",
    changes: Changes | None = None,
    waits: bool = True,
) -> Answer:
    """Ask the model once, with retries. Never raises for what a provider does.

    A key that is used up gives way to the next at once, and a request that is refused for what is in
    it goes again without that (``changes``); neither counts as an attempt. Without ``waits`` somebody
    else can answer sooner, so only pauses of up to `SHORT_WAIT` are made.
    """
    changes = changes or Changes()
    attempts = sent = 0
    used: set[str] = set()
    while True:
        attempts, sent = attempts + 1, sent + 1
        current = changes.apply(request)
        answer, error, key = await _attempt(
            route, current, listener, clock, token=f"{token}.{sent}", used=used
        )
        answer = msgspec.structs.replace(answer, attempts=attempts)
        if answer.interrupted or error is None:
            return answer
        failure = _failure_of(error, route, answer.assembled)
        await listener.failed(error, failure, attempts)
        rotated = await _rotated(route, key, used, failure, error, clock.now())
        if not answer.shown and (rotated or changes.learn(failure, current)):
            attempts -= 1
            continue
        pause: float | None = None
        if not answer.shown and attempts < policy.attempts:
            pause, failure = _pause(policy, attempts, failure, error, clock.now(), waits=waits)
        if pause is None:
            return msgspec.structs.replace(answer, failure=failure)
        await listener.retrying(failure, attempts, pause)
        await _until_interrupted(partial(clock.sleep, pause), listener.cancelled)
        if listener.cancelled.is_set():
            return msgspec.structs.replace(answer, interrupted=True)
        used.clear()


async def _attempt(
    route: Route,
    request: ModelRequest,
    listener: Listener,
    clock: Clock,
    *,
    token: str,
    used: set[str],
) -> tuple[Answer, ProviderError | None, Key | None]:
    """Send the request once; what came back, what went wrong, and the key that was used."""
    endpoint, key = await _with_key(route, used)
    assembler = Assembler(token=token, dialect=route.dialect_name, provider=route.profile.id)
    listener.sending(request)
    reader = _Reader(route.dialect, endpoint, request, assembler, listener, clock)
    if endpoint is None:
        error: ProviderError | None = await _worn_out(route)
    else:
        error = await _until_interrupted(reader.read, listener.cancelled)
    reader.finish()
    assembled = assembler.finish()
    assembled = msgspec.structs.replace(assembled, usage=priced(assembled.usage, route.model))
    answer = Answer(
        assembled=assembled,
        label=route.label,
        shown=reader.has_shown,
        interrupted=listener.cancelled.is_set(),
    )
    return answer, error or _complaint(assembled), key


def _failure_of(error: ProviderError, route: Route, assembled: Assembled) -> Failure:
    return classify(
        error,
        profile=route.profile,
        model=route.label,
        url=route.endpoint.url,
        address=route.address,
        window=route.model.context_length,
        prompt_tokens=assembled.usage.input,
    )


def _pause(
    policy: RetryPolicy,
    attempts: int,
    failure: Failure,
    error: ProviderError,
    now: float,
    *,
    waits: bool,
) -> tuple[float | None, Failure]:
    """Seconds until the next attempt, None for none; the failure may say when to come back."""
    if not failure.retryable or failure.reason in NEEDS_ANOTHER_REQUEST:
        return None, failure
    pause = delay(policy, attempts, headers=error.headers, now=now, random=random.random)
    if pause is None:
        return None, _with_wait(failure, asked_wait(error.headers, now=now))
    if pause > SHORT_WAIT and failure.fallback and not waits:
        return None, failure
    return pause, failure


async def _with_key(route: Route, used: set[str]) -> tuple[Endpoint | None, Key | None]:
    """The endpoint with the key to use now; None for the endpoint when every key rests."""
    if route.keys is None:
        return route.endpoint, None
    key = await route.keys.take(without=used)
    if key is None:
        return None, None
    headers = headers_of(route.profile, key.secret)
    return msgspec.structs.replace(
        route.endpoint, headers={**route.endpoint.headers, **headers}
    ), key


async def _rotated(
    route: Route,
    key: Key | None,
    used: set[str],
    failure: Failure,
    error: ProviderError,
    now: float,
) -> bool:
    """Let a key rest that a failure speaks of; True when another one of the pool can go on."""
    if route.keys is None or key is None or not failure.rotate:
        return False
    words = f"{error.message} {error.body}".lower()
    wait = asked_wait(error.headers, now=now)
    await route.keys.rest(key, failure.reason, words=words, wait=wait)
    used.add(key.id)
    return await route.keys.is_ready(without=used)


async def _worn_out(route: Route) -> ProviderError:
    """The error of a pool in which every key rests."""
    assert route.keys is not None
    back = await route.keys.first_back()
    count = len(route.keys)
    when = f"; the first is back at {datetime.fromtimestamp(back):%H:%M:%S}" if back else ""
    return ProviderError(
        f"all {count} keys rest{when}", reason="rate_limit" if back else "auth", retryable=False
    )


def _with_wait(failure: Failure, seconds: float | None) -> Failure:
    """The failure, with when the provider wants to be asked again."""
    if not seconds:
        return failure
    text = f"{failure.user_text.rstrip('.')}. It asks to come back {wait_text(seconds)}."
    return msgspec.structs.replace(failure, user_text=text)


def _complaint(assembled: Assembled) -> ProviderError | None:
    """What is wrong with an answer that came without an error."""
    empty = not (assembled.text or assembled.tool_calls or assembled.reasoning)
    if assembled.finish is None:
        if empty:
            return ProviderError("", reason="empty_response")
        if not assembled.tool_calls:
            return ProviderError("", reason="cut")
    if empty and assembled.finish in ("stop", "unknown"):
        return ProviderError("", reason="empty_response")
    return None


class _Reader:
    """Reads one stream into the assembler and tells the listener."""

    def __init__(
        self,
        dialect: Dialect,
        endpoint: Endpoint | None,
        request: ModelRequest,
        assembler: Assembler,
        listener: Listener,
        clock: Clock,
    ) -> None:
        self._dialect = dialect
        self._endpoint = endpoint
        self._request = request
        self._assembler = assembler
        self._listener = listener
        self._clock = clock
        self.has_shown = False

    async def read(self) -> ProviderError | None:
        assert self._endpoint is not None
        limits = self._endpoint.timeouts
        try:
            async with self._clock.timeout(limits.first) as timeout:
                moved = float("-inf")
                deltas = self._dialect.stream(self._request, self._endpoint)
                async with aclosing(cast("_Closable", deltas)):
                    async for delta in deltas:
                        self._take(delta)
                        if self._waiting is not None:
                            waiting, self._waiting = self._waiting, None
                            await waiting
                        now = self._clock.monotonic()
                        if now - moved > RESCHEDULE_SECONDS:
                            timeout.reschedule(limits.idle)
                            moved = now
        except TimeoutError:
            what = "stopped sending" if self.has_shown else "did not begin to answer"
            seconds = limits.idle if self.has_shown else limits.first
            return ProviderError(f"it {what} within {seconds:g} s", reason="timeout")
        except ProviderError as error:
            return error
        return None

    _waiting: Awaitable[None] | None = None

    def _take(self, delta: Delta) -> None:
        split = self._assembler.feed(delta)
        if split.text or split.reasoning:
            self.has_shown = self.has_shown or bool(split.text.strip())
            self._waiting = self._listener.shown(split.text, split.reasoning)

    def finish(self) -> None:
        """Show what was held back."""
        split = self._assembler.flush()
        if split.text or split.reasoning:
            self._waiting = None
            self._listener.shown(split.text, split.reasoning)


class _Closable(Protocol):
    async def aclose(self) -> None: ...


async def _until_interrupted(
    work: Callable[[], Awaitable[ProviderError | None]] | Callable[[], Awaitable[None]],
    interruption: Interruption,
) -> ProviderError | None:
    """Run ``work`` until it ends or the call is interrupted; then it is cancelled."""
    loop = asyncio.get_running_loop()
    task = loop.create_task(_awaited(work))
    waiter = loop.create_task(interruption.wait())
    try:
        await asyncio.wait({task, waiter}, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        task.cancel()
        raise
    finally:
        waiter.cancel()
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
        return None
    return task.result()


async def _awaited(
    work: Callable[[], Awaitable[ProviderError | None]] | Callable[[], Awaitable[None]],
) -> ProviderError | None:
    return await work()
