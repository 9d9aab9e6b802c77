"""Opening a session: from what a face wishes to a `Session`, step by step.

New, or one that goes on: model, tools, folder, prompt, lease, gate, executor. Called by the
composition root; knows no face.
"""

from __future__ import annotations

import os
import random
import socket
import sys
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import msgspec

from hermes_core.agent.agent import Session, SessionParts
from hermes_core.agent.executor import Executor
from hermes_core.agent.prompt import PromptFacts, build_prompt, read_context_files
from hermes_core.agent.results import ResultBudgets
from hermes_core.config_schema import BY_FACE
from hermes_core.gate.gate import Gate
from hermes_core.gate.scan import scan_text
from hermes_core.host import Loaded
from hermes_core.keeper import LeaseKeeper
from hermes_core.naming import NEWEST, find_session
from hermes_core.registry import Owned, Toolbox, permitted
from hermes_core.route.ask import Route
from hermes_core.route.chain import Chain
from hermes_core.route.retry import RetryPolicy
from hermes_core.route.route import Wanted
from hermes_core.store.repair import valid
from hermes_core.store.sqlite import Lease, new_session_id
from hermes_core.toolsets import Selection, ToolsetSettings, face_toolsets, select
from hermes_plugins._decisions import CallView, Decision
from hermes_plugins._dialects import ToolSpec
from hermes_plugins._environments import Environment
from hermes_plugins._errors import UsageError
from hermes_plugins._faces import SessionWish
from hermes_plugins._host import Host, PromptContext
from hermes_plugins._messages import Message
from hermes_plugins._store import SessionInfo

if TYPE_CHECKING:
    from hermes_core.runtime import Runtime

_SYSTEMS: Final = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}

_random = random.SystemRandom()


class _Basis(msgspec.Struct, frozen=True, kw_only=True):
    """What a session starts from: itself, its prompt and its tools. A new one is not stored yet."""

    info: SessionInfo
    system: str
    tools: tuple[ToolSpec, ...]
    is_new: bool
    is_bare: bool = False


class Opening:
    """One call of ``open_session``."""

    def __init__(self, runtime: Runtime, wish: SessionWish) -> None:
        self._runtime = runtime
        self._wish = wish

    async def session(self) -> Session:
        """The session, taken for writing.

        Raises:
            UsageError: no such session, model, provider or toolset.
            SessionBusy: another process is writing it.
        """
        before = await self._existing()
        route = await self._route(before)
        selection = self._selection()
        toolbox, loaded = await self._toolbox(selection)
        workspace = self._workspace(before)
        environment = await self._environment(workspace)
        if before is None:
            basis = self._made(route, toolbox, workspace, (selection, loaded))
        else:
            basis = await self._continued(before)
        if not basis.system:  # an imported session, or one that was repaired, may have come without
            scratch = self._scratch(basis.info)
            system = self._prompt(
                workspace=workspace, scratch=scratch, selection=selection, loaded=loaded
            )
            basis = msgspec.structs.replace(
                basis, system=system, tools=toolbox.specs(), is_bare=True
            )
        return await self._taken(basis, route=route, toolbox=toolbox, environment=environment)

    # -- the session ---------------------------------------------------------------------

    async def _existing(self) -> SessionInfo | None:
        if self._wish.latest:
            newest = await self._runtime.store.list(limit=NEWEST)
            for one in newest:
                if one.message_count and one.kind != "subagent":
                    return one
            raise UsageError("there is no session to continue.", hint="`hermes chat` starts one.")
        if not self._wish.resume:
            return None
        return await find_session(self._runtime.store, self._wish.resume)

    def _made(
        self,
        route: Route,
        toolbox: Toolbox,
        workspace: Path,
        chosen: tuple[Selection, Sequence[Loaded]],
    ) -> _Basis:
        runtime = self._runtime
        now = runtime.clock.now()
        info = SessionInfo(
            id=new_session_id(now, _random),
            face=self._wish.face,
            model=route.label,
            workspace=str(workspace),
            created=now,
            updated=now,
        )
        selection, loaded = chosen
        system = self._prompt(
            workspace=workspace, scratch=self._scratch(info), selection=selection, loaded=loaded
        )
        return _Basis(info=info, system=system, tools=toolbox.specs(), is_new=True)

    def _scratch(self, info: SessionInfo) -> Path:
        return self._runtime.paths.cache / "scratch" / info.id

    async def _continued(self, before: SessionInfo) -> _Basis:
        store = self._runtime.store
        info = await self._forked(before) if self._wish.fork else before
        setup = await store.setup(info.id)
        tools = msgspec.json.decode(setup.tools, type=tuple[ToolSpec, ...])
        return _Basis(info=info, system=setup.system, tools=tools, is_new=False)

    async def _forked(self, before: SessionInfo) -> SessionInfo:
        now = self._runtime.clock.now()
        upto = self._wish.upto
        kind, mark = ("fork", " (copy)") if upto is None else ("undo", " (undo)")
        info = msgspec.structs.replace(
            before,
            id=new_session_id(now, _random),
            title=before.title.removesuffix(mark) + mark if before.title else "",
            face=self._wish.face,
            parent=before.id,
            kind=kind,
            created=now,
            updated=now,
        )
        await self._runtime.store.fork(before.id, info=info, upto=upto)
        return info

    async def _taken(
        self, basis: _Basis, *, route: Route, toolbox: Toolbox, environment: Environment
    ) -> Session:
        """Take the lease and put the parts together."""
        runtime, wish, info = self._runtime, self._wish, basis.info
        settings = runtime.config.settings
        lease, history = await self._leased(basis)
        if basis.is_bare:
            tools = msgspec.json.encode(basis.tools)
            await runtime.store.update_setup(lease, system=basis.system, tools=tools)
        keeper = LeaseKeeper(runtime.store, lease, runtime.clock, title=info.title)
        if route.label != info.model:
            await keeper.note_model(route.label)
            info = msgspec.structs.replace(info, model=route.label)
        gate = self._gate()
        executor = Executor(
            toolbox=toolbox,
            environment=environment,
            dispatch=runtime.host.dispatch,
            gate=gate,
            clock=runtime.clock,
            threads=runtime.threads,
            handle=runtime.handle,
            budgets=ResultBudgets.for_window(route.model.context_length),
            redact=runtime.redactor.redact,
            spill=self._spill_to(environment, info.id),
            default_timeout=settings.tools.default_timeout,
            face=wish.face,
        )
        runtime.host.dispatch.emit(
            "hermes_on_session_start", session=info, resumed=not basis.is_new
        )
        return Session(
            SessionParts(
                info=info,
                chain=self._chain(route),
                system=basis.system,
                tools=basis.tools,
                history=history,
                keeper=keeper,
                executor=executor,
                gate=gate,
                environment=environment,
                dispatch=runtime.host.dispatch,
                clock=runtime.clock,
                max_turns=wish.max_turns or settings.agent.max_turns,
                retry=RetryPolicy(),
                redact=runtime.redactor.redact,
                release=partial(_release, keeper, history, len(history) if basis.is_new else -1),
                approver=wish.approver,
            )
        )

    async def _leased(self, basis: _Basis) -> tuple[Lease, list[Message]]:
        """The right to write the session, and its messages."""
        store, holder = self._runtime.store, f"{self._wish.face} ({_process_name()})"
        if not basis.is_new:
            lease = await store.acquire(basis.info.id, holder=holder)
            return lease, [one.message for one in await store.open_for_writing(lease)]
        history = valid(self._wish.history)
        tools = msgspec.json.encode(basis.tools)
        lease = await store.begin_session(
            basis.info, system=basis.system, tools=tools, messages=history, holder=holder
        )
        return lease, history

    # -- model, tools, place -------------------------------------------------------------

    async def _route(self, before: SessionInfo | None) -> Route:
        router = self._runtime.router()
        wanted = Wanted(model=self._wish.model, provider=self._wish.provider)
        if before is not None and not (wanted.model or wanted.provider):
            provider, _, model = before.model.partition("/")
            wanted = Wanted(model=model, provider=provider)
        return await router.resolve(wanted)

    def _chain(self, route: Route) -> Chain:
        return Chain(
            route,
            fallbacks=self._runtime.config.settings.model.fallback,
            resolve=lambda name: self._runtime.router().resolve(Wanted(model=name)),
            clock=self._runtime.clock,
        )

    def _selection(self) -> Selection:
        settings = self._runtime.config.settings.toolsets
        installed = set(self._runtime.host.names("hermes.tools"))
        named = {
            name: ToolsetSettings(includes=one.includes, tools=one.tools)
            for name, one in settings.sets.items()
        }
        off = {
            one.name: reason
            for one in self._runtime.host.found
            if one.group == "hermes.tools" and (reason := self._runtime.host.why_off(one))
        }
        if self._wish.toolsets:
            return select(self._wish.toolsets, named=named, installed=installed, off=off)
        usual, left_out = face_toolsets(settings.by_face, self._wish.face)
        present = [name for name in usual if name in installed or name in named]
        self._report_missing(set(usual) - set(present), off)
        # A third-party toolset that the owner installed and enabled is there to be used.
        strangers = [
            one.name
            for one in self._runtime.host.found
            if one.group == "hermes.tools"
            and not one.builtin
            and not self._runtime.host.why_off(one)
        ]
        wanted = dict.fromkeys([*present, *(name for name in strangers if name not in left_out)])
        return select(wanted, named=named, installed=installed, off=off)

    def _report_missing(self, names: Collection[str], off: Mapping[str, str]) -> None:
        """Toolsets that hermes.yaml gives this face and nobody offers; the defaults may be absent."""
        usual = {name for listed in BY_FACE.values() for name in listed}
        for name in sorted(set(names) - usual):
            text = f"toolsets.by_face names {name!r}, which is {off.get(name, 'not installed')}"
            self._runtime.host.report_problem("", text)

    async def _toolbox(self, selection: Selection) -> tuple[Toolbox, list[Loaded]]:
        names = list(selection.toolsets)
        if selection.tools:
            names += self._runtime.host.names("hermes.tools")
        loaded = await self._runtime.host.load("hermes.tools", names)
        memory = await self._memory()
        owned = [
            Owned(tool, plugin.name)
            for plugin in [*loaded, *(one for one in memory if one not in loaded)]
            for tool in plugin.tools
            if tool.toolset in selection.toolsets
            or tool.name in selection.tools
            or plugin.source == "module"
            or plugin in memory
        ]
        settings = self._runtime.config.settings.tools
        kept = permitted(owned, allowed=settings.allowed, blocked=settings.blocked)
        reasons = await self._runtime.availability.reasons(one.tool for one in kept)
        for one in kept:
            if reason := reasons.get(one.tool.name):
                self._runtime.host.report_problem(
                    one.plugin, f"tool {one.tool.name} is off: {reason}"
                )
        return Toolbox(one for one in kept if one.tool.name not in reasons), loaded

    async def _memory(self) -> list[Loaded]:
        """The plugin that ``memory.backend`` names, where memory is used at all."""
        settings = self._runtime.config.settings.memory
        if not settings.enabled or settings.backend == "none":
            return []
        host = self._runtime.host
        loaded = await host.load("hermes.memory", [settings.backend])
        if not loaded:
            host.report_problem(
                settings.backend,
                "this memory backend is configured but not loaded; nothing is remembered with it",
                "`hermes plugins list` says why; `hermes config set memory.backend none` does without.",
            )
        return loaded

    def _workspace(self, before: SessionInfo | None) -> Path:
        if before is not None and before.workspace and Path(before.workspace).is_dir():
            return Path(before.workspace)
        configured = self._runtime.config.settings.terminal.cwd
        return Path(configured).expanduser().resolve() if configured else self._runtime.cwd

    async def _environment(self, workspace: Path) -> Environment:
        name = self._runtime.config.settings.terminal.environment
        driver = await self._runtime.host.driver("hermes.environments", name)
        make = cast("Callable[[Host, str], Environment]", driver)
        owner = next(
            one.plugin
            for one in self._runtime.host.found
            if one.group == "hermes.environments"
            and one.name == name
            and not self._runtime.host.why_off(one)
        )
        return make(self._runtime.handle(owner), str(workspace))

    # -- prompt and gate -----------------------------------------------------------------

    def _prompt(
        self,
        *,
        workspace: Path,
        scratch: Path,
        selection: Selection,
        loaded: Sequence[Loaded],
    ) -> str:
        settings = self._runtime.config.settings
        facts = PromptFacts(
            name=settings.agent.name,
            identity=_soul(self._runtime.paths.home),
            workspace=str(workspace),
            scratch=str(scratch),
            face=self._wish.face,
            interactive=self._wish.interactive,
            instructions=self._wish.instructions,
            system=_SYSTEMS.get(sys.platform, sys.platform),
            now=self._runtime.clock.now(),
        )
        files = read_context_files(workspace, stop=_repository(workspace), scan=scan_text)
        plugins = dict.fromkeys([*(one.name for one in loaded), *self._runtime.host.loaded])
        sections = [
            (
                section,
                PromptContext(
                    workspace=str(workspace),
                    face=self._wish.face,
                    toolsets=selection.toolsets,
                    now=self._runtime.clock.now(),
                    host=self._runtime.handle(name),
                ),
            )
            for name in sorted(plugins, key=self._runtime.host.rank)
            for section in self._runtime.host.loaded[name].prompt_sections
        ]
        return build_prompt(
            facts,
            files,
            sections,
            failed=lambda name, error: self._runtime.host.report_problem(
                name, f"its prompt section failed: {error}"
            ),
        )

    def _gate(self) -> Gate:
        settings = self._runtime.config.settings.gate
        if self._wish.mode:
            settings = msgspec.structs.replace(settings, mode=self._wish.mode)

        async def policies(call: CallView) -> Sequence[tuple[str, Decision]]:
            return await self._runtime.host.dispatch.gate("hermes_before_tool_call", call=call)

        return Gate(
            settings=settings,
            policies=policies,
            paths=self._runtime.protected,
            approvals=self._runtime.approvals,
            clock=self._runtime.clock,
            audit=self._runtime.audit,
            scratch=str(self._runtime.paths.cache / "scratch"),
            redactor=self._runtime.redactor.redact,
        )

    def _spill_to(
        self, environment: Environment, session: str
    ) -> Callable[[str, str], Awaitable[str]]:
        async def spill(call: str, text: str) -> str:
            safe = "".join(char if char.isalnum() or char in "-_" else "_" for char in call)[:80]
            path = str(self._runtime.paths.cache / "results" / session / f"{safe}.txt")
            await environment.write(path, text.encode("utf-8", "replace"))
            return path

        return spill


async def _release(keeper: LeaseKeeper, history: list[Message], begun: int) -> None:
    """Give the session back; one in which nothing was said since it was made is forgotten."""
    await keeper.give_back(forget=len(history) == begun)


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


def _process_name() -> str:
    return f"pid {os.getpid()} on {socket.gethostname()}"
