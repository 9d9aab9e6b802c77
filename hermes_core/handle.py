"""The handle that each plugin gets: the kit's `Host`, bound to one plugin of one host."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from hermes_core.config import Config
from hermes_plugins._clock import Clock
from hermes_plugins._config import Section
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
    """Implements the kit's `Tasks`: background tasks that end with the host."""

    def __init__(self, plugin: str, report: Callable[[str, str], None]) -> None:
        self._plugin = plugin
        self._report = report
        self._running: set[asyncio.Task[None]] = set()

    def start(self, name: str, coro: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(coro, name=f"{self._plugin}.{name}")
        self._running.add(task)
        task.add_done_callback(self._ended)

    def cancel(self) -> None:
        """End every task."""
        for task in self._running:
            task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report(self._plugin, f"task {task.get_name()} failed: {error}")


class Kernel(msgspec.Struct, frozen=True, kw_only=True):
    """What all handles of a host share."""

    config: Config
    paths: Paths
    clock: Clock
    http: HttpClient
    store: Store


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
        self._tasks = TaskGroup(plugin, lambda name, text: host().report_problem(name, text))
        self.tasks: Tasks = self._tasks

    def close(self) -> None:
        """End the plugin's background tasks."""
        self._tasks.cancel()

    def section(self, schema: type[S]) -> S:
        config = self._kernel.config
        section = config.plugin_section(self.plugin, schema)
        loaded = self._host().loaded.get(self.plugin)
        declared = (
            next((one for one in loaded.config if one.schema is schema), None) if loaded else None
        )
        inherits = declared.inherits if declared else {}
        taken = {
            field: _at(config, key)
            for field, key in inherits.items()
            if config.origin(f"plugins.{self.plugin}.{field}").layer == "default"
        }
        return msgspec.structs.replace(section, **taken) if taken else section

    async def services(self, family: str) -> Sequence[object]:
        return await self._host().services(family)

    def records(self, namespace: str) -> Records:
        return self._kernel.store.records(f"{self.plugin}.{namespace}")

    def child_environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        config = self._kernel.config
        passed = set(config.settings.terminal.env_passthrough)
        kept = {
            name: value
            for name, value in config.environ.items()
            if name in passed or not (_is_secret(name) or name in config.secrets)
        }
        return {**kept, **(extra or {})}


def _is_secret(name: str) -> bool:
    upper = name.upper()
    if upper in _NOT_SECRET:
        return False
    return upper.startswith("HERMES_") or any(word in upper for word in _SECRET_WORDS)


def _at(config: Config, key: str) -> object:
    value: object = config.settings
    for part in key.split("."):
        value = getattr(value, part)
    return value
