"""The handle that each plugin gets: the kit's `Host`, bound to one plugin of one host."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec

from hermes_core.config import Config
from hermes_plugins._clock import Clock
from hermes_plugins._config import Section
from hermes_plugins._errors import PluginError
from hermes_plugins._host import Paths, Tasks
from hermes_plugins._http import HttpClient
from hermes_plugins._store import Records, SessionReader

if TYPE_CHECKING:
    from hermes_core.host import PluginHost
    from hermes_core.store.sqlite import Store

S = TypeVar("S", bound=Section)

_SECRET_WORDS = (
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "CREDENTIAL",
    "CREDS",
    "BEARER",
    "WEBHOOK",
    "DSN",
)
_NOT_SECRET = frozenset({"SSH_AUTH_SOCK"})


class TaskGroup:
    """Implements the kit's `Tasks`: background tasks that end with the host.

    ``failed`` gets the name of a task and what it raised.
    """

    def __init__(self, plugin: str, failed: Callable[[str, BaseException], None]) -> None:
        self._plugin = plugin
        self._failed = failed
        self._loop = _running_loop()
        self._running: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def start(self, name: str, coro: Coroutine[object, object, None]) -> None:
        """Run ``coro`` in the background. Safe in the thread of a plain hook too.

        Raises:
            PluginError: the host that this handle belongs to has stopped.
        """
        loop = _running_loop()
        if self._is_closed or (loop is None and self._loop is None):
            coro.close()
            raise PluginError(self._plugin, f"task {name} was not started: the host has stopped.")
        if loop is not None:
            self._start(name, coro)
        elif self._loop is not None:
            self._loop.call_soon_threadsafe(self._start, name, coro)

    def cancel(self) -> None:
        """End every task, and take no more."""
        self._is_closed = True
        for task in self._running:
            task.cancel()

    async def ended(self) -> None:
        """Return when no task runs any more."""
        while self._running:
            await asyncio.wait(self._running)

    def _start(self, name: str, coro: Coroutine[object, object, None]) -> None:
        if self._is_closed:  # it stopped while a thread's call was on its way
            coro.close()
            return
        work = self._supervised(name, coro)
        task = asyncio.get_running_loop().create_task(work, name=f"{self._plugin}.{name}")
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        task.add_done_callback(lambda _: coro.close())  # where it never came to run

    async def _supervised(self, name: str, coro: Coroutine[object, object, None]) -> None:
        try:
            await coro
        except (asyncio.CancelledError, KeyboardInterrupt):
            raise
        except BaseException as error:  # SystemExit too: a task must not end the program
            self._failed(name, error)


class Kernel(msgspec.Struct, frozen=True, kw_only=True):
    """What all handles of a host share."""

    config: Config
    paths: Paths
    clock: Clock
    http: HttpClient
    store: Store
    redact: Callable[[str], str]


class Handle:
    """Implements the kit's `Host` for one plugin."""

    def __init__(self, plugin: str, kernel: Kernel, host: Callable[[], PluginHost]) -> None:
        self.plugin = plugin
        self.paths = kernel.paths
        self.log = logging.getLogger(f"hermes.plugin.{plugin}")
        self.clock = kernel.clock
        self.http = kernel.http
        self.sessions: SessionReader = kernel.store
        self._kernel = kernel
        self._host = host
        self._sections: dict[type[Section], Section] = {}
        self._tasks = TaskGroup(plugin, self._task_failed)
        self.tasks: Tasks = self._tasks

    async def stop(self, seconds: float) -> None:
        """End the plugin's background tasks; they get ``seconds`` to clean up."""
        self._tasks.cancel()
        with suppress(TimeoutError):
            async with self.clock.timeout(seconds):
                await self._tasks.ended()

    def _task_failed(self, name: str, error: BaseException) -> None:
        host = self._host()
        host.report_problem(
            self.plugin, f"its task {name} failed ({type(error).__name__}: {error})"
        )
        host.dispatch.emit(
            "hermes_on_error", where=f"plugin {self.plugin}: task {name}", error=error
        )

    def section(self, schema: type[S]) -> S:
        if (kept := self._sections.get(schema)) is not None:
            return cast("S", kept)
        known = self._host().settings_of(self.plugin)
        declared = next((one for one in known if one.schema is schema), None)
        inherits = declared.inherits if declared else {}
        section = self._kernel.config.plugin_section(self.plugin, schema, inherits=inherits)
        if declared is not None:  # before it was loaded nobody knows what it inherits
            self._sections[schema] = section
        return section

    async def services(self, family: str) -> Sequence[object]:
        return await self._host().services(family)

    def records(self, namespace: str) -> Records:
        return self._kernel.store.records(f"{self.plugin}.{namespace}")

    def secret(self, name: str) -> str:
        loaded = self._host().loaded.get(self.plugin)
        if loaded is None or not any(name in one.env for one in loaded.config):
            raise PluginError(self.plugin, f"reads {name} without naming it in ConfigSection.env.")
        return self._kernel.config.environ.get(name, "")

    def redact(self, text: str) -> str:
        return self._kernel.redact(text)

    def child_environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        config = self._kernel.config
        passed = set(config.settings.terminal.env_passthrough)
        kept = {
            name: value
            for name, value in config.environ.items()
            if name in passed or not (_is_secret(name) or name in config.secrets)
        }
        return {**kept, **(extra or {})}


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:  # a thread without one
        return None


def _is_secret(name: str) -> bool:
    upper = name.upper()
    if upper in _NOT_SECRET:
        return False
    return upper.startswith("HERMES_") or any(word in upper for word in _SECRET_WORDS)
