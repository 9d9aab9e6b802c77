"""The composition root: the one place that constructs and connects.

``Runtime`` is a host with its settings, store, gate and router; ``open_session`` puts a session
together. Two runtimes in one process (two profiles) share nothing.
"""

from __future__ import annotations

import os
import platform
import random
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import msgspec

from hermes_core.agent.agent import Session, SessionParts
from hermes_core.agent.executor import Executor
from hermes_core.agent.prompt import PromptFacts, build_prompt, read_context_files
from hermes_core.agent.results import ResultBudgets
from hermes_core.clock import SystemClock
from hermes_core.config import Config, load_config
from hermes_core.declarations import Declarations
from hermes_core.discovery import Discovery
from hermes_core.gate.approve import Approvals
from hermes_core.gate.audit import Audit
from hermes_core.gate.gate import Gate
from hermes_core.gate.paths import ProtectedPaths
from hermes_core.gate.redact import Redactor
from hermes_core.gate.scan import scan_text
from hermes_core.handle import Handle, Kernel
from hermes_core.host import HostSettings, Loaded, PluginHost
from hermes_core.http import KernelHttp
from hermes_core.log import start_log, stop_log
from hermes_core.paths import check_home
from hermes_core.registry import Availability, Owned, Toolbox, permitted
from hermes_core.route.ask import Route
from hermes_core.route.retry import RetryPolicy
from hermes_core.route.route import Router, Wanted
from hermes_core.store.sqlite import Lease, Store, new_session_id
from hermes_core.threads import Threads
from hermes_core.toolsets import Selection, ToolsetSettings, select
from hermes_plugins._approvals import Approver
from hermes_plugins._clock import Clock
from hermes_plugins._decisions import CallView, Decision
from hermes_plugins._dialects import ToolSpec
from hermes_plugins._environments import Environment
from hermes_plugins._errors import HermesError, UsageError
from hermes_plugins._host import Host, Paths, PromptContext
from hermes_plugins._messages import Message, Usage
from hermes_plugins._store import SessionInfo

NEWEST = 200
"""Sessions that are looked at for one to continue, or for a beginning of an id."""
HOUR = 3600.0
STOP_SECONDS = 5.0
"""What plugins get to finish when the host stops."""


class SessionWish(msgspec.Struct, frozen=True, kw_only=True):
    """What a face asks for when it opens a session."""

    face: str = "cli"
    interactive: bool = True
    resume: str = ""
    """Id, id prefix or title of the session to continue."""
    latest: bool = False
    """Continue the newest session."""
    fork: bool = False
    model: str = ""
    provider: str = ""
    toolsets: tuple[str, ...] = ()
    max_turns: int = 0
    mode: str = ""
    """Approvals mode in place of ``gate.mode``."""
    approver: Approver | None = None


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
    ) -> None:
        settings = config.settings
        self.config = config
        self.paths = paths
        self.clock = clock
        self.cwd = cwd
        self.http = KernelHttp(clock=clock, force_ipv4=settings.network.force_ipv4)
        self.store = Store(paths.home / "state.db", clock=clock, process="Hermes")
        self.threads = Threads("hermes-tool")
        self._handles: dict[str, Handle] = {}
        self._kernel = Kernel(
            config=config, paths=paths, clock=clock, http=self.http, store=self.store
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
        self.redactor = Redactor(_secret_values(config))
        self._availability = Availability(clock.monotonic)
        self._audit = Audit(
            paths.logs / "audit.jsonl",
            clock=clock,
            report=lambda text: self.host.report_problem("", text),
        )
        self._random = random.SystemRandom()
        self._log = start_log(
            paths.logs / "hermes.log",
            self.redactor,
            level=settings.logging.level,
            max_bytes=int(settings.logging.max_megabytes * 1_000_000),
            keep=settings.logging.keep,
        )
        self._started = False

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
        if self._started:
            return
        self._started = True
        self.host.check_required()
        await self.host.load_policies()
        await self.host.load("hermes.lifecycle", self.host.names("hermes.lifecycle"))
        for found in self.host.found:
            if found.source == "module":
                await self.host.load(found.group, [found.name])
        self.host.dispatch.emit("hermes_on_start")

    async def close(self) -> None:
        """Stop: hooks, store, connections, threads. Nothing waits for a stuck plugin."""
        if self._started:
            self.host.dispatch.emit("hermes_on_stop")
            await self.host.dispatch.drain(STOP_SECONDS)
        for handle in self._handles.values():
            handle.close()
        await self.http.aclose()
        await self.store.close()
        self.threads.close()
        self.host.close()
        self._audit.close()
        stop_log(self._log)

    # -- sessions ----------------------------------------------------------------------

    async def open_session(self, wish: SessionWish) -> Session:
        """A new session, or one that goes on.

        Raises:
            UsageError: no such session, model, provider or toolset.
            SessionBusy: another process is writing it.
        """
        await self.start()
        before = await self._existing(wish)
        router = Router(
            host=self.host,
            settings=self.config.settings,
            environ=self.config.environ,
            http=self.http,
            clock=self.clock,
            declarations=Declarations(self.paths.cache / "declared.json"),
        )
        wanted = Wanted(model=wish.model, provider=wish.provider)
        if before is not None and not (wish.model or wish.provider):
            wanted = _as_before(before)
        route = await router.resolve(wanted)
        selection = self._selection(wish)
        toolbox, loaded = await self._toolbox(selection)
        workspace = self._workspace(before)
        environment = await self._environment(workspace)
        if before is None:
            session_id = new_session_id(self.clock.now(), self._random)
            scratch = self.paths.cache / "scratch" / session_id
            system = self._prompt(
                wish, workspace=workspace, scratch=scratch, selection=selection, loaded=loaded
            )
            info = await self._create(
                session_id,
                wish,
                route=route,
                workspace=workspace,
                system=system,
                toolbox=toolbox,
            )
            tools = toolbox.specs()
        else:
            info = await self._forked(before, wish) if wish.fork else before
            setup = await self.store.setup(info.id)
            system = setup.system
            tools = msgspec.json.decode(setup.tools, type=tuple[ToolSpec, ...])
        lease = await self.store.acquire(info.id, holder=f"{wish.face} ({_process_name()})")
        history = [stored.message for stored in await self.store.open_for_writing(lease)]
        keeper = _Keeper(self.store, lease, title=info.title)
        self._handles["lease"] = self.handle("lease")
        self._handles["lease"].tasks.start("renew", _renew(lease, self.clock))
        gate = self._gate(wish, workspace)
        budgets = ResultBudgets.for_window(route.model.context_length)
        executor = Executor(
            toolbox=toolbox,
            environment=environment,
            dispatch=self.host.dispatch,
            gate=gate,
            clock=self.clock,
            threads=self.threads,
            handle=self.handle,
            budgets=budgets,
            redact=self.redactor.redact,
            spill=self._spill_to(environment, info.id),
            default_timeout=self.config.settings.tools.default_timeout,
            face=wish.face,
        )
        self.host.dispatch.emit("hermes_on_session_start", session=info, resumed=before is not None)
        return Session(
            SessionParts(
                info=info,
                route=route,
                system=system,
                tools=tools,
                history=history,
                keeper=keeper,
                executor=executor,
                environment=environment,
                dispatch=self.host.dispatch,
                clock=self.clock,
                max_turns=wish.max_turns or self.config.settings.agent.max_turns,
                retry=RetryPolicy(),
                redact=self.redactor.redact,
                release=partial(self._give_back, lease, history, is_new=before is None),
                approver=wish.approver,
            )
        )

    async def _give_back(self, lease: Lease, history: list[Message], *, is_new: bool) -> None:
        """End the lease; a session in which nothing was said leaves nothing behind."""
        await self.store.release(lease)
        if is_new and not history:
            await self.store.delete(lease.session_id)

    async def _existing(self, wish: SessionWish) -> SessionInfo | None:
        if wish.latest:
            newest = await self.store.list(limit=NEWEST)
            for one in newest:
                if one.message_count and one.kind != "subagent":
                    return one
            raise UsageError("there is no session to continue.", hint="`hermes chat` starts one.")
        if not wish.resume:
            return None
        return await find_session(self.store, wish.resume)

    async def _create(
        self,
        session_id: str,
        wish: SessionWish,
        *,
        route: Route,
        workspace: Path,
        system: str,
        toolbox: Toolbox,
    ) -> SessionInfo:
        now = self.clock.now()
        info = SessionInfo(
            id=session_id,
            face=wish.face,
            model=route.label,
            workspace=str(workspace),
            created=now,
            updated=now,
        )
        await self.store.create_session(
            info, system=system, tools=msgspec.json.encode(toolbox.specs())
        )
        return info

    async def _forked(self, before: SessionInfo, wish: SessionWish) -> SessionInfo:
        now = self.clock.now()
        info = msgspec.structs.replace(
            before,
            id=new_session_id(now, self._random),
            title=f"{before.title} (copy)" if before.title else "",
            face=wish.face,
            parent=before.id,
            kind="fork",
            created=now,
            updated=now,
        )
        await self.store.fork(before.id, info=info)
        return info

    # -- parts -------------------------------------------------------------------------

    def _selection(self, wish: SessionWish) -> Selection:
        settings = self.config.settings.toolsets
        installed = set(self.host.names("hermes.tools"))
        named = {
            name: ToolsetSettings(includes=one.includes, tools=one.tools)
            for name, one in settings.sets.items()
        }
        if wish.toolsets:
            return select(wish.toolsets, named=named, installed=installed)
        usual = settings.by_face.get(wish.face) or settings.by_face.get("cli", ())
        present = [name for name in usual if name in installed or name in named]
        # A third-party toolset that the owner installed and enabled is there to be used.
        strangers = [
            one.name
            for one in self.host.found
            if one.group == "hermes.tools" and not one.builtin and not self.host.why_off(one)
        ]
        return select(dict.fromkeys([*present, *strangers]), named=named, installed=installed)

    async def _toolbox(self, selection: Selection) -> tuple[Toolbox, list[Loaded]]:
        names = list(selection.toolsets)
        if selection.tools:
            names += self.host.names("hermes.tools")
        loaded = await self.host.load("hermes.tools", names)
        owned = [
            Owned(tool, plugin.name)
            for plugin in loaded
            for tool in plugin.tools
            if tool.toolset in selection.toolsets
            or tool.name in selection.tools
            or plugin.source == "module"
        ]
        settings = self.config.settings.tools
        kept = []
        for one in permitted(owned, allowed=settings.allowed, blocked=settings.blocked):
            if reason := self._availability.reason(one.tool):
                self.host.report_problem(one.plugin, f"tool {one.tool.name} is off: {reason}")
            else:
                kept.append(one)
        return Toolbox(kept), loaded

    def _workspace(self, before: SessionInfo | None) -> Path:
        if before is not None and before.workspace and Path(before.workspace).is_dir():
            return Path(before.workspace)
        configured = self.config.settings.terminal.cwd
        return Path(configured).expanduser().resolve() if configured else self.cwd

    async def _environment(self, workspace: Path) -> Environment:
        name = self.config.settings.terminal.environment
        driver = await self.host.driver("hermes.environments", name)
        make = cast("Callable[[Host, str], Environment]", driver)
        owner = next(
            one.plugin
            for one in self.host.found
            if one.group == "hermes.environments" and one.name == name
        )
        return make(self.handle(owner), str(workspace))

    def _prompt(
        self,
        wish: SessionWish,
        *,
        workspace: Path,
        scratch: Path,
        selection: Selection,
        loaded: Sequence[Loaded],
    ) -> str:
        settings = self.config.settings
        facts = PromptFacts(
            name=settings.agent.name,
            identity=_soul(self.paths.home),
            workspace=str(workspace),
            scratch=str(scratch),
            face=wish.face,
            interactive=wish.interactive,
            system=platform.system(),
            now=self.clock.now(),
        )
        files = read_context_files(workspace, stop=_repository(workspace), scan=scan_text)
        plugins = dict.fromkeys([*(one.name for one in loaded), *self.host.loaded])
        sections = [
            (
                section,
                PromptContext(
                    workspace=str(workspace),
                    face=wish.face,
                    toolsets=selection.toolsets,
                    now=self.clock.now(),
                    host=self.handle(name),
                ),
            )
            for name in sorted(plugins, key=self.host.rank)
            for section in self.host.loaded[name].prompt_sections
        ]
        return build_prompt(
            facts,
            files,
            sections,
            failed=lambda name, error: self.host.report_problem(
                name, f"its prompt section failed: {error}"
            ),
        )

    def _gate(self, wish: SessionWish, workspace: Path) -> Gate:
        settings = self.config.settings.gate
        if wish.mode:
            settings = msgspec.structs.replace(settings, mode=wish.mode)

        async def policies(call: CallView) -> Sequence[tuple[str, Decision]]:
            return await self.host.dispatch.gate("hermes_before_tool_call", call=call)

        return Gate(
            settings=settings,
            policies=policies,
            paths=ProtectedPaths(
                home=Path.home(),
                hermes_home=self.paths.home,
                write_root=settings.write_root,
                runtime=_runtime_folders(),
            ),
            approvals=Approvals(settings.allow, save=self._remember),
            clock=self.clock,
            audit=self._audit,
            scratch=str(self.paths.cache / "scratch"),
            redactor=self.redactor.redact,
        )

    async def _remember(self, rule: str) -> None:
        """Keep an "always" of a person in ``gate.allow``."""
        from hermes_core.config_edit import append_value

        append_value(self.paths, "gate.allow", rule)

    def _spill_to(
        self, environment: Environment, session: str
    ) -> Callable[[str, str], Awaitable[str]]:
        async def spill(call: str, text: str) -> str:
            safe = "".join(char if char.isalnum() or char in "-_" else "_" for char in call)[:80]
            path = str(self.paths.cache / "results" / session / f"{safe}.txt")
            await environment.write(path, text.encode("utf-8", "replace"))
            return path

        return spill


class _Keeper:
    """The store, bound to the lease of one session."""

    def __init__(self, store: Store, lease: Lease, *, title: str) -> None:
        self._store = store
        self._lease = lease
        self._title = title

    async def append(
        self,
        messages: Sequence[Message],
        *,
        usage: Mapping[str, Usage] | None = None,
        model_calls: int = 0,
        final: bool = False,
    ) -> list[int]:
        return await self._store.append(
            self._lease, messages, usage=usage, model_calls=model_calls, final=final
        )

    def save_draft(self, text: str, reasoning: str) -> None:
        self._store.save_draft(self._lease, text, reasoning)

    async def entitle(self, title: str) -> None:
        if title and not self._title:
            await self._store.set_title(self._lease.session_id, title)
            self._title = title


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
    paths.home.mkdir(mode=0o700, parents=True, exist_ok=True)
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


async def find_session(store: Store, name: str) -> SessionInfo:
    """The one session that ``name`` means.

    Raises:
        UsageError: none, or several.
    """
    name = name.encode("utf-8", "replace").decode()  # an argument may hold what is no text
    found = await store.find(name)
    if not found:
        recent = await store.list(limit=NEWEST)
        found = [one for one in recent if one.id.startswith(name)]
    if not found:
        word = name.casefold()
        near = [one.id for one in recent if word in one.title.casefold()][:3]
        raise UsageError(
            f"there is no session {name!r}.",
            hint=f"Its title may be longer; see {', '.join(near)}."
            if near
            else "`hermes sessions list` shows them.",
        )
    exact = [one for one in found if one.id == name]
    if len(found) > 1 and not exact:
        ids = ", ".join(one.id for one in found[:5])
        more = ", …" if len(found) > 5 else ""
        raise UsageError(
            f"{name!r} may be {len(found)} sessions.", hint=f"Use a whole id: {ids}{more}"
        )
    return exact[0] if exact else found[0]


async def _renew(lease: Lease, clock: Clock) -> None:
    while True:
        await clock.sleep(10.0)
        await lease.renew()


def _as_before(before: SessionInfo) -> Wanted:
    provider, _, model = before.model.partition("/")
    return Wanted(model=model, provider=provider)


def _host_settings(config: Config) -> HostSettings:
    plugins = config.settings.plugins
    overrides = {name: config.plugin_overrides(name) for name in config.plugin_names()}
    return HostSettings(
        enabled=plugins.enabled,
        disabled=plugins.disabled,
        required=plugins.required,
        overrides={name: tools for name, tools in overrides.items() if tools},
    )


def _secret_values(config: Config) -> list[str]:
    """Values that must never be shown: everything in .env, and keys of the environment."""
    named = (
        value
        for name, value in config.environ.items()
        if name.upper().endswith(("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD"))
    )
    return [value for value in (*config.secrets.values(), *named) if len(value) >= 8]


def _soul(home: Path) -> str:
    try:
        return (home / "SOUL.md").read_text(encoding="utf-8-sig")[:20_000]
    except OSError:
        return ""


def _repository(workspace: Path) -> Path:
    """The folder with .git above the workspace, else the workspace itself."""
    for folder in (workspace, *workspace.parents):
        if (folder / ".git").exists():
            return folder
    return workspace


def _runtime_folders() -> tuple[str, ...]:
    """The interpreter and what is installed in it: an agent must not saw off its own branch."""
    return tuple({sys.prefix, sys.base_prefix})


def _process_name() -> str:
    return f"pid {os.getpid()} on {socket.gethostname()}"
