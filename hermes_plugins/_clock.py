"""Time as a plugin sees it, so that tests can own it.

Nothing outside the kernel's ``clock.py`` and the kit's virtual clock calls ``time``, ``sleep`` or a
time-out of asyncio; a test reads the syntax trees.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Timeout(Protocol):
    """A running time-out."""

    def reschedule(self, seconds: float) -> None:
        """Let it run out ``seconds`` from now instead."""


class Clock(Protocol):
    """Wall time, monotonic time, sleeping and time-outs."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Seconds that never go backwards; for durations only."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[Timeout]:
        """Raise `TimeoutError` at the block's end when it took longer; None never does."""
