"""Keeping platforms and faces running: a fall is told and mended after a pause, and stays its own.

The only place of the gateway that catches everything: what a platform's code raises becomes a value.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVar

import msgspec

from hermes_plugins._clock import Clock
from hermes_plugins._errors import HermesError

T = TypeVar("T")

LONGEST_PAUSE: Final = 300.0
"""Seconds before a platform that keeps falling is started again."""
HEALTHY: Final = 60.0
"""Seconds after which a platform that falls counts as one that had worked."""

_log = logging.getLogger("hermes.gateway")
_random = random.SystemRandom()


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """How a platform is. ``state`` is ``running``, ``waiting`` (to be started again) or ``stopped``.

    ``error`` is why it fell the last time, ``falls`` how often in a row.
    """

    state: str
    since: float
    error: str = ""
    falls: int = 0


class Supervisor:
    """Runs named works for ever, each in a task of its own.

    ``changed`` is told of every change, ``tell`` in a line of every fall that has another reason than
    the one before.
    """

    def __init__(
        self,
        clock: Clock,
        changed: Callable[[], None] = lambda: None,
        *,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._clock = clock
        self._changed = changed
        self._say = tell
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._health: dict[str, Health] = {}

    @property
    def health(self) -> Mapping[str, Health]:
        """How each work is."""
        return self._health

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run ``work`` until `stop`; again and again where it ends."""
        loop = asyncio.get_running_loop()
        self._tasks[name] = loop.create_task(self._keep_running(name, work), name=name)

    async def stop(self, seconds: float) -> None:
        """Cancel everything and wait for it, at most that long."""
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await wait_for(self._clock, set(self._tasks.values()), seconds)
        for name in self._tasks:
            self._tell(name, Health(state="stopped", since=self._clock.now()))

    async def _keep_running(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        falls = 0
        while True:
            started = self._clock.monotonic()
            error = self._health[name].error if name in self._health else ""
            self._tell(name, Health(state="running", since=self._clock.now(), error=error))
            failure = await failure_of(work())
            text = one_line(failure) if failure is not None else "it ended by itself"
            _log.warning("%s fell: %s", name, text, exc_info=_unforeseen(failure))
            if text != error:
                self._say(f"{name} fell and is started again: {text}")
            falls = 1 if self._clock.monotonic() - started >= HEALTHY else falls + 1
            health = Health(state="waiting", since=self._clock.now(), error=text, falls=falls)
            self._tell(name, health)
            await self._clock.sleep(pause(falls, _random.random()))

    def _tell(self, name: str, health: Health) -> None:
        self._health[name] = health
        self._changed()


def pause(falls: int, chance: float) -> float:
    """Seconds before the next attempt: 1, 2, 4 … 300, shortened by up to a half by ``chance``."""
    return float(min(LONGEST_PAUSE, 2.0 ** min(falls - 1, 20))) * (1 - chance / 2)


async def failure_of(work: Awaitable[object]) -> Exception | None:
    """Do it; what it raised, None when it went well. Being cancelled goes through."""
    try:
        await work
    except Exception as error:
        return error
    return None


async def attempted(work: Awaitable[T]) -> T | Exception:
    """Do it; what it gave, or what it raised."""
    try:
        return await work
    except Exception as error:
        return error


async def wait_for(clock: Clock, tasks: set[asyncio.Task[None]], seconds: float) -> bool:
    """Wait until all have ended, at most that long; True when they have."""
    try:
        async with clock.timeout(seconds):
            await asyncio.wait(tasks)
    except TimeoutError:
        return False
    return True


def one_line(error: BaseException) -> str:
    """What happened, in a line. Of a group of errors the first counts."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, HermesError):
        return str(error)
    return f"{type(error).__name__}: {error}".partition("\n")[0].rstrip(": ")


def _unforeseen(error: BaseException | None) -> BaseException | None:
    """The error whose traceback is worth keeping: a bug, not a lost connection."""
    return None if isinstance(error, HermesError | OSError) else error
