"""Clocks for tests: one that a test moves by hand, and a real one."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from hermes_core.clock import SystemClock


class RealClock(SystemClock):
    """Implements `Clock` on the machine's time, as the host's own clock does.

    For tests of code that waits for sockets, processes or threads, which no virtual clock sees. Set
    the pauses of that code to milliseconds.
    """


class _VirtualTimeout:
    def __init__(self, clock: VirtualClock, seconds: float | None) -> None:
        self._clock = clock
        self.deadline = None if seconds is None else clock.monotonic() + seconds
        self.expired = False

    def reschedule(self, seconds: float) -> None:
        self.deadline = self._clock.monotonic() + seconds


class VirtualClock:
    """Implements `Clock`; time stands still until `advance`.

    ``autojump`` moves it to the next sleeper as soon as every task waits, for code that only has to
    get through its pauses. It cannot see threads and sockets: with those, use `advance`.
    """

    def __init__(self, *, start: float = 1_800_000_000.0, autojump: bool = False) -> None:
        self._start = start
        self._elapsed = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = itertools.count()
        self._autojump = autojump
        self.slept: list[float] = []
        """Every duration that was slept, in order."""

    def now(self) -> float:
        return self._start + self._elapsed

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await self._until(self._elapsed + seconds)

    async def advance(self, seconds: float) -> None:
        """Move time on, waking sleepers in order and letting tasks run in between."""
        target = self._elapsed + seconds
        await self.settle()
        while self._sleepers and self._sleepers[0][0] <= target:
            self._wake_next()
            await self.settle()
        self._elapsed = max(self._elapsed, target)

    async def settle(self, turns: int = 20) -> None:
        """Let every ready task run."""
        for _ in range(turns):
            await asyncio.sleep(0)

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[_VirtualTimeout]:
        return self._timeout(_VirtualTimeout(self, seconds))

    @asynccontextmanager
    async def _timeout(self, timeout: _VirtualTimeout) -> AsyncIterator[_VirtualTimeout]:
        task = asyncio.current_task()
        assert task is not None
        watcher = asyncio.create_task(self._watch(timeout, task))
        try:
            yield timeout
        except asyncio.CancelledError:
            if timeout.expired and task.uncancel() <= 0:
                raise TimeoutError from None
            raise
        finally:
            watcher.cancel()

    async def _watch(self, timeout: _VirtualTimeout, task: asyncio.Task[object]) -> None:
        while timeout.deadline is not None:
            if timeout.deadline <= self._elapsed:
                timeout.expired = True
                task.cancel()
                return
            await self._until(timeout.deadline)

    async def _until(self, deadline: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (deadline, next(self._count), future)
        heapq.heappush(self._sleepers, entry)
        if self._autojump:
            asyncio.get_running_loop().call_soon(self._jump)
        try:
            await future
        finally:
            if entry in self._sleepers:
                self._sleepers.remove(entry)
                heapq.heapify(self._sleepers)

    def _jump(self) -> None:
        """Once the loop has nothing else ready: two rounds later, wake the earliest sleeper."""
        loop = asyncio.get_running_loop()
        loop.call_soon(lambda: loop.call_soon(self._wake_next))

    def _wake_next(self) -> None:
        if not self._sleepers:
            return
        deadline, _, future = heapq.heappop(self._sleepers)
        self._elapsed = max(self._elapsed, deadline)
        if not future.done():
            future.set_result(None)
