"""The real clock: the only place in the kernel that asks the system for the time or waits.

Everything else gets a `Clock` handed in, so a test can own time.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractAsyncContextManager
from types import TracebackType

from hermes_plugins._clock import Timeout


class _SystemTimeout:
    """asyncio's time-out, told in durations instead of loop times."""

    def __init__(self, seconds: float | None) -> None:
        self._timeout = asyncio.timeout(seconds)

    def reschedule(self, seconds: float) -> None:
        self._timeout.reschedule(asyncio.get_running_loop().time() + seconds)

    async def __aenter__(self) -> Timeout:
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._timeout.__aexit__(kind, error, trace)


class SystemClock:
    """Implements the kit's `Clock` on the machine's clocks and asyncio."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[Timeout]:
        return _SystemTimeout(seconds)
