"""What a handler gets, made by hand: call a tool's handler in a test without a host."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from hermes_plugins._clock import Clock
from hermes_plugins._config import Section
from hermes_plugins._environments import Environment
from hermes_plugins._errors import ToolError
from hermes_plugins._host import Host, Paths, Tasks
from hermes_plugins._http import HttpClient
from hermes_plugins._store import Records, SessionReader
from hermes_plugins.testing._clock import VirtualClock
from hermes_plugins.testing._environments import FolderEnvironment
from hermes_plugins.testing._records import FakeRecords

T = TypeVar("T")
S = TypeVar("S", bound=Section)


class FakeCancelled:
    """Implements `Cancelled`; a test calls `set`."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []

    def set(self) -> None:
        """The call is over."""
        with self._lock:
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def is_set(self) -> bool:
        return self._event.is_set()

    async def wait(self) -> None:
        loop = asyncio.get_running_loop()
        woken = asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(woken.set)

        self.on_set(wake)
        await woken.wait()

    def on_set(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return
        callback()


class FakeHost:
    """A `Host` for a driver's or a handler's test: settings, paths, a clock and a child's variables.

    ``section`` are the settings (default: the schema's defaults), ``variables`` the environment that
    `secret` and `child_environment` read (default: this process's). The clock is a `VirtualClock` that
    **stands still**: a pause or a time-out ends only when the test calls ``advance``, so give
    ``clock=RealClock()`` where sockets or processes take part. `records` are kept in memory, by
    namespace, and are gone with this object; two objects share none. What needs a kernel (``http``,
    ``sessions``, ``tasks``) is there only when the test sets it.
    """

    http: HttpClient
    sessions: SessionReader
    tasks: Tasks

    def __init__(
        self,
        home: Path,
        *,
        plugin: str = "test",
        clock: Clock | None = None,
        section: Section | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.plugin = plugin
        self.paths = Paths(home=home, cache=home / "cache", logs=home / "logs")
        self.log = logging.getLogger(f"hermes.test.{plugin}")
        self.clock: Clock = clock or VirtualClock()
        self.offered: dict[str, Sequence[object]] = {}
        """What `services` answers, by family."""
        self._records: dict[str, FakeRecords] = {}
        self._section = section
        self._variables = dict(os.environ if variables is None else variables)

    def section(self, schema: type[S]) -> S:
        return self._section if isinstance(self._section, schema) else schema()

    async def services(self, family: str) -> Sequence[object]:
        return self.offered.get(family, ())

    def records(self, namespace: str) -> Records:
        return self._records.setdefault(namespace, FakeRecords(self.clock))

    def secret(self, name: str) -> str:
        return self._variables.get(name, "")

    def redact(self, text: str) -> str:
        from hermes_core.gate.redact import redact

        return redact(text)

    def child_environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        return {**self._variables, **(extra or {})}


class FakeContext:
    """Implements `ToolContext` on a folder.

    ``environment`` and ``host`` default to fakes on ``folder``; ``answers`` are given to `ask` in
    order, and an `ask` beyond them fails as on a face that cannot ask. What the handler told is in
    ``told``, what it asked in ``asked``.
    """

    def __init__(
        self,
        folder: Path,
        *,
        environment: Environment | None = None,
        host: Host | None = None,
        clock: Clock | None = None,
        answers: Sequence[str] = (),
    ) -> None:
        self.session_id = "20260101_000000_abcdef"
        self.turn_id = "turn-1"
        self.call_id = "call-1"
        self.environment: Environment = environment or FolderEnvironment(folder)
        self.workspace = self.environment.workspace
        self.clock: Clock = clock or (host.clock if host else VirtualClock())
        self.host: Host = host or FakeHost(folder / ".home", clock=self.clock)
        self.cancelled = FakeCancelled()
        self.result_chars = 100_000
        self.told: list[str] = []
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self._answers = deque(answers)
        self._state: dict[str, object] = {}
        try:
            self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None

    def progress(self, text: str) -> None:
        self.told.append(text)

    async def ask(self, question: str, choices: Sequence[str] = ()) -> str:
        self.asked.append((question, tuple(choices)))
        if not self._answers:
            raise ToolError("this face cannot ask.")
        return self._answers.popleft()

    def state(self, key: str, factory: Callable[[], T]) -> T:
        if key not in self._state:
            self._state[key] = factory()
        value: T = self._state[key]  # type: ignore[assignment]
        return value

    def run(self, coro: Coroutine[object, object, T]) -> T:
        """Made in a running loop: call the handler in a thread. Made without: its own loop."""
        if self._loop is None:
            with asyncio.Runner() as runner:
                return runner.run(coro)
        return asyncio.run_coroutine_threadsafe(coro, self._loop).result()
