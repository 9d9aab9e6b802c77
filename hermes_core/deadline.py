"""Awaiting a plugin's coroutine for so long and no longer, at next to no cost when it does not wait.

The coroutine runs as part of the caller's task. Its first step, which is mostly all of it, is taken at
once and needs no timer (about 1 microsecond). One that is still going on after its time, because it
swallowed its cancellation, is left to a task of its own, and the caller goes on without it.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from typing import TypeVar

from hermes_plugins._clock import Clock

T = TypeVar("T")
_Work = Coroutine[object, None, T]

_ALMOST = 0.9
"""A cancellation after this part of the time is ours: timers may fire early by a clock's resolution."""


class Deadline:
    """Bounds coroutines on one clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._left: set[asyncio.Task[object]] = set()

    async def run(self, work: _Work[T], seconds: float) -> T:
        """What ``work`` gives.

        Raises:
            TimeoutError: it was not ready in time; it has been cancelled, and left behind if it went on.
        """
        try:
            waited = work.send(None)
        except StopIteration as stop:
            answer: T = stop.value
            return answer
        end = self._clock.monotonic() + seconds * _ALMOST
        async with self._clock.timeout(seconds):
            answer = await self._rest(work, waited, lambda: self._clock.monotonic() >= end)
        if self._clock.monotonic() >= end + seconds * (1 - _ALMOST):
            raise TimeoutError  # it swallowed the cancellation, and then answered
        return answer

    @types.coroutine
    def _rest(
        self, work: _Work[T], waited: object, is_over: Callable[[], bool]
    ) -> Generator[object, None, T]:
        try:
            while True:
                try:
                    yield waited
                except BaseException as error:
                    waited = work.throw(error)
                    if is_over():
                        self._leave(work, waited)
                        raise
                else:
                    waited = work.send(None)
        except StopIteration as stop:
            answer: T = stop.value
            return answer

    def _leave(self, work: _Work[T], waited: object) -> None:
        """Let it go on alone, so that it may clean up; its end is nobody's concern."""
        task = asyncio.get_running_loop().create_task(_alone(work, waited))
        self._left.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[object]) -> None:
        self._left.discard(task)
        if not task.cancelled():
            task.exception()  # fetched, so that nobody complains that it was not


@types.coroutine
def _alone(work: _Work[object], waited: object) -> Generator[object, None, None]:
    try:
        while True:
            yield waited
            waited = work.send(None)
    except StopIteration:
        return
