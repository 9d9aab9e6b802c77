"""What a running tool call may use: the kernel's `ToolContext`, and its cancellation flag."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import TypeVar, cast

from hermes_plugins._clock import Clock
from hermes_plugins._environments import Environment
from hermes_plugins._host import Host

T = TypeVar("T")


class CancelFlag:
    """Implements the kit's `Cancelled`; set once, from any thread, with a reason.

    A child flag is set with its parent: a turn's with each of its calls.
    """

    def __init__(self, parent: CancelFlag | None = None) -> None:
        self.reason = ""
        self._set = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self._parent = parent
        if parent is not None:
            parent.on_set(self._follow)

    def is_set(self) -> bool:
        return self._set.is_set()

    def set(self, reason: str) -> None:
        """Tell everybody who waits; later calls change nothing."""
        with self._lock:
            if self._set.is_set():
                return
            self.reason = reason
            self._set.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def on_set(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if not self._set.is_set():
                self._callbacks.append(callback)
                return
        callback()

    async def wait(self) -> None:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        def settle() -> None:
            if not future.done():
                future.set_result(None)

        def wake() -> None:
            loop.call_soon_threadsafe(settle)

        self.on_set(wake)
        try:
            await future
        finally:
            self._forget(wake)

    def detach(self) -> None:
        """Stop following the parent: the call is over."""
        if self._parent is not None:
            self._parent._forget(self._follow)

    def _follow(self) -> None:
        self.set(self._parent.reason if self._parent else "")

    def _forget(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)


class SessionState:
    """Values that tools keep for a session while it is open in this process."""

    def __init__(self) -> None:
        self._values: dict[str, object] = {}
        self._lock = threading.Lock()

    def get(self, key: str, factory: Callable[[], T]) -> T:
        """The value under ``key``, made once."""
        with self._lock:
            if key not in self._values:
                self._values[key] = factory()
            return cast("T", self._values[key])


class CallContext:
    """Implements the kit's `ToolContext` for one call."""

    def __init__(
        self,
        *,
        ids: tuple[str, str, str],
        environment: Environment,
        clock: Clock,
        host: Host,
        cancelled: CancelFlag,
        result_chars: int,
        state: SessionState,
        progress: Callable[[str], None],
        ask: Callable[[str, Sequence[str]], Coroutine[object, object, str]],
    ) -> None:
        self.session_id, self.turn_id, self.call_id = ids
        self.environment = environment
        self.workspace = environment.workspace
        self.clock = clock
        self.host = host
        self.cancelled = cancelled
        self.result_chars = result_chars
        self._state = state
        self._progress = progress
        self._ask = ask
        self._loop = asyncio.get_running_loop()

    def progress(self, text: str) -> None:
        self._loop.call_soon_threadsafe(self._progress, text)

    async def ask(self, question: str, choices: Sequence[str] = ()) -> str:
        return await self._ask(question, choices)

    def state(self, key: str, factory: Callable[[], T]) -> T:
        return self._state.get(key, factory)

    def run(self, coro: Coroutine[object, object, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(coro, self._loop)

        def drop() -> None:
            future.cancel()

        self.cancelled.on_set(drop)
        return future.result()
