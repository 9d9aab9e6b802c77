"""The composition root: the one place that constructs and connects.

``Runtime`` is a host with its settings, store, gate and router; ``open_session`` puts a session
together. Two runtimes in one process (two profiles) share nothing.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from hermes_core.agent.agent import Session
from hermes_core.clock import SystemClock
from hermes_core.config import Config, load_config, secret_values
from hermes_core.declarations import Declarations
from hermes_core.discovery import Discovery
from hermes_core.gate.approve import Approvals
from hermes_core.gate.audit import Audit
from hermes_core.gate.paths import ProtectedPaths
from hermes_core.gate.redact import Redactor
from hermes_core.handle import Handle, Kernel
from hermes_core.host import HostSettings, PluginHost
from hermes_core.http import KernelHttp
from hermes_core.log import start_log, stop_log
from hermes_core.opening import Opening
from hermes_core.paths import check_home, make_home
from hermes_core.registry import Availability
from hermes_core.route.route import Router
from hermes_core.store.sqlite import Store
from hermes_core.threads import Threads
from hermes_plugins._clock import Clock
from hermes_plugins._errors import HermesError
from hermes_plugins._faces import SessionWish
from hermes_plugins._host import Paths

HOUR = 3600.0
STOP_SECONDS = 5.0
"""What plugins get to finish when the host stops."""
TASK_SECONDS = 1.0
"""What their background tasks get after that, once they are cancelled."""


class Runtime:
    """A running host. Make it with `open_runtime`, end it with `close`."""

    def __init__(
        self,
        *,
        config: Config,
        paths: Paths,
        clock: Clock,
        modules: Sequence[str] = (),
        objects: Mapping[tuple[str, str], object] | None = None,
        cwd: Path,
        fresh: bool = False,
        state: Path | None = None,
    ) -> None:
        settings = config.settings
        self.config = config
        self.paths = paths
        self.clock = clock
        self.cwd = cwd
        self.http = KernelHttp(clock=clock, force_ipv4=settings.network.force_ipv4)
        self.store = Store(state or paths.home / "state.db", clock=clock, process="")
        self.threads = Threads("hermes-tool")
        self._handles: dict[str, Handle] = {}
        self.redactor = Redactor(secret_values(config))
        self._kernel = Kernel(
            config=config,
            paths=paths,
            clock=clock,
            http=self.http,
            store=self.store,
            redact=self.redactor.redact,
        )
        folders = [
            paths.home / "plugins",
            *(Path(one).expanduser() for one in settings.plugins.paths),
        ]
        self.host = PluginHost(
            settings=_host_settings(config),
            discovery=Discovery(
                cache_file=paths.cache / "found.json",
                folders=folders,
                modules=modules,
                objects=objects,
            ),
            clock=clock,
            handle=self.handle,
            fresh=fresh,
        )
        self.availability = Availability(clock, self.threads)
        self.audit = Audit(
            paths.logs / "audit.jsonl",
            clock=clock,
            report=lambda text: self.host.report_problem("", text),
            redactor=self.redactor,
        )
        self.approvals = Approvals(settings.gate.allow, save=self._remember)
        self._log = start_log(
            paths.logs / "hermes.log",
            self.redactor,
            level=settings.logging.level,
            max_bytes=int(settings.logging.max_megabytes * 1_000_000),
            keep=settings.logging.keep,
        )
        self.protected = _protected(paths, settings.gate.write_root)
        self._declarations = Declarations(paths.cache / "declared.json")
        self._started = False
        self._starting = asyncio.Lock()

    def handle(self, plugin: str) -> Handle:
        """The handle of a plugin."""
        if plugin not in self._handles:
            self._handles[plugin] = Handle(plugin, self._kernel, lambda: self.host)
        return self._handles[plugin]

    async def start(self) -> None:
        """Load what every agent needs: policies first, then the watchers.

        Raises:
            PluginError: an enabled policy or a required plugin is not loaded.
        """
        async with self._starting:  # a second session waits for the policies too
            if self._started:
                return
            self.host.check_required()
            await self.host.load_policies()
            await self.host.load("hermes.lifecycle", self.host.names("hermes.lifecycle"))
            for found in self.host.found:
                if found.source == "module":
                    await self.host.load(found.group, [found.name])
            self._started = True
            self.host.dispatch.emit("hermes_on_start")

    async def close(self) -> None:
        """Stop: hooks, store, connections, threads. Nothing waits for a stuck plugin."""
        if self._started:
            self.host.dispatch.emit("hermes_on_stop")
            await self.host.dispatch.drain(STOP_SECONDS)
        await asyncio.gather(*(handle.stop(TASK_SECONDS) for handle in self._handles.values()))
        await self.http.aclose()
        await self.store.close()
        self.threads.close()
        self.host.close()
        self.audit.close()
        stop_log(self._log)

    async def open_session(self, wish: SessionWish) -> Session:
        """A new session, or one that goes on.

        Raises:
            UsageError: no such session, model, provider or toolset.
            SessionBusy: another process is writing it.
        """
        await self.start()
        return await Opening(self, wish).session()

    def router(self) -> Router:
        """What finds the route of a session."""
        return Router(
            host=self.host,
            settings=self.config.settings,
            environ=self.config.environ,
            http=self.http,
            clock=self.clock,
            declarations=self._declarations,
            records=self.store.records("route.keys"),
        )

    async def _remember(self, rule: str) -> None:
        """Keep an "always" of a person in ``gate.allow``."""
        from hermes_core.config_edit import append_value

        append_value(self.paths, "gate.allow", rule)


async def open_runtime(
    paths: Paths,
    *,
    environ: Mapping[str, str],
    cwd: Path,
    overrides: Mapping[str, object] = {},
    modules: Sequence[str] = (),
    objects: Mapping[tuple[str, str], object] | None = None,
    clock: Clock | None = None,
    fresh: bool = False,
) -> Runtime:
    """Read the settings and construct a host; nothing is loaded yet.

    Raises:
        ConfigError: the settings cannot be read.
        HermesError: the home cannot be used.
    """
    if problem := check_home(paths):
        raise HermesError(problem)
    make_home(paths)
    config = load_config(paths, cwd=cwd, environ=environ, overrides=overrides)
    return Runtime(
        config=config,
        paths=paths,
        clock=clock or SystemClock(),
        modules=modules,
        objects=objects,
        cwd=cwd,
        fresh=fresh,
    )


def _protected(paths: Paths, write_root: str) -> ProtectedPaths:
    return ProtectedPaths(
        home=Path.home(),
        hermes_home=paths.home,
        write_root=write_root,
        # The interpreter and what is installed in it: an agent must not saw off its own branch.
        runtime=tuple({sys.prefix, sys.base_prefix}),
    )


def _host_settings(config: Config) -> HostSettings:
    plugins = config.settings.plugins
    overrides = {name: config.plugin_overrides(name) for name in config.plugin_names()}
    return HostSettings(
        enabled=plugins.enabled,
        disabled=plugins.disabled,
        required=plugins.required,
        overrides={name: tools for name, tools in overrides.items() if tools},
    )
