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
from functools import partial
from typing import Protocol, cast

import msgspec

from hermes_core.route.assemble import Assembled, Assembler
from hermes_core.route.classify import Failure, classify
from hermes_core.route.pricing import priced
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

    def sending(self, request: ModelRequest) -> None:
        """An attempt begins."""


class Interruption(Protocol):
    """What ends a call from outside."""

    def is_set(self) -> bool:
        """True once it should end."""

    async def wait(self) -> None:
        """Return when it should end."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came back. ``failure`` is why there is no (whole) answer; ``interrupted`` wins over it."""

    assembled: Assembled
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
) -> Answer:
    """Ask the model once, with retries. Never raises for what a provider does."""
    attempt = 0
    while True:
        attempt += 1
        assembler = Assembler(token=f"{token}.{attempt}")
        listener.sending(request)
        reader = _Reader(route, request, assembler, listener, clock)
        error = await _until_interrupted(reader.read, listener.cancelled)
        reader.finish()
        assembled = assembler.finish()
        assembled = msgspec.structs.replace(assembled, usage=priced(assembled.usage, route.model))
        if listener.cancelled.is_set():
            return Answer(assembled=assembled, interrupted=True, attempts=attempt)
        if error is None:
            error = _complaint(assembled)
        if error is None:
            return Answer(assembled=assembled, attempts=attempt)
        failure = classify(
            error,
            profile=route.profile,
            model=route.label,
            url=route.endpoint.url,
            address=route.address,
            window=route.model.context_length,
            prompt_tokens=assembled.usage.input,
        )
        await listener.failed(error, failure, attempt)
        pause: float | None = None
        may_help = failure.retryable and failure.reason not in NEEDS_ANOTHER_REQUEST
        if may_help and not reader.has_shown and attempt < policy.attempts:
            now = clock.now()
            pause = delay(policy, attempt, headers=error.headers, now=now, random=random.random)
            if pause is None:
                failure = _with_wait(failure, asked_wait(error.headers, now=now))
        if pause is None:
            return Answer(assembled=assembled, failure=failure, attempts=attempt)
        await listener.retrying(failure, attempt, pause)
        await _until_interrupted(partial(clock.sleep, pause), listener.cancelled)
        if listener.cancelled.is_set():
            return Answer(assembled=assembled, interrupted=True, attempts=attempt)


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
        route: Route,
        request: ModelRequest,
        assembler: Assembler,
        listener: Listener,
        clock: Clock,
    ) -> None:
        self._route = route
        self._request = request
        self._assembler = assembler
        self._listener = listener
        self._clock = clock
        self.has_shown = False

    async def read(self) -> ProviderError | None:
        limits = self._route.endpoint.timeouts
        try:
            async with self._clock.timeout(limits.first) as timeout:
                moved = float("-inf")
                deltas = self._route.dialect.stream(self._request, self._route.endpoint)
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
