"""Threads for foreign code: plain hooks, plain tool handlers, imports.

Daemon threads of our own, because asyncio's default executor waits for its threads when the process
exits: one stuck call would keep the program from ending. A call that is no longer waited for goes on
until it returns; its late result is dropped.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_Job = Callable[[], None]

MAX_THREADS = 64

# A future refuses StopIteration; the other two would look like an interruption from outside.
_MISLEADING = (StopIteration, asyncio.CancelledError, KeyboardInterrupt)


class Threads:
    """A pool of daemon threads; grows on demand to ``limit``, reuses what is idle."""

    def __init__(self, name: str, *, limit: int = MAX_THREADS) -> None:
        self._name = name
        self._limit = limit
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._idle = 0
        self._pending = 0  # jobs that no thread has begun
        self._count = 0
        self._lock = threading.Lock()

    async def run(self, function: Callable[[], T]) -> T:
        """Call ``function`` in a thread, with this task's context variables, and return its result.

        Cancelling the wait leaves the call running and drops what it returns.

        Raises:
            RuntimeError: in place of an exception that would mean something else to the waiting
                task (StopIteration, CancelledError, KeyboardInterrupt).
            BaseException: whatever else ``function`` raises, SystemExit among it.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        context = contextvars.copy_context()

        def settle(result: T | None, error: BaseException | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)  # type: ignore[arg-type]

        def job() -> None:
            result: T | None = None
            failure: BaseException | None = None
            try:
                result = context.run(function)
            except _MISLEADING as error:
                failure = RuntimeError(f"{type(error).__name__}: {error}".rstrip(": "))
            except BaseException as error:  # SystemExit in a plugin must not end a thread silently
                failure = error
            try:
                loop.call_soon_threadsafe(settle, result, failure)
            except RuntimeError:
                pass  # the loop is closed: nobody waits any more

        self._submit(job)
        return await future

    def close(self) -> None:
        """Let idle threads end. Running calls are not waited for."""
        with self._lock:
            for _ in range(self._count):
                self._jobs.put(None)

    def _submit(self, job: _Job) -> None:
        with self._lock:
            self._jobs.put(job)
            self._pending += 1
            if self._idle >= self._pending or self._count >= self._limit:
                return
            self._count += 1
        threading.Thread(target=self._work, name=self._name, daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            job = self._jobs.get()
            with self._lock:
                self._idle -= 1
                if job is None:
                    self._count -= 1
                    return
                self._pending -= 1
            job()
