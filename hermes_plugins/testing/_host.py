"""A real host for tests: the kernel, an isolated home, chosen plugins, a scripted model.

Reaches up into the kernel, which only this package may.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
import pytest

from hermes_plugins._clock import Clock
from hermes_plugins._events import Event, TurnEnded
from hermes_plugins._messages import Message
from hermes_plugins._store import Records
from hermes_plugins.testing._prompt import FakePrompt
from hermes_plugins.testing._server import ScriptedServer

if TYPE_CHECKING:
    from hermes_core.agent.agent import Session
    from hermes_core.runtime import Runtime
    from hermes_plugins._approvals import Approver
    from hermes_plugins._faces import FaceHost, FaceSpec

E = TypeVar("E", bound=Event)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One finished turn: its events and its end."""

    events: tuple[Event, ...]
    end: TurnEnded

    @property
    def text(self) -> str:
        """The answer."""
        return self.end.text

    def of(self, kind: type[E]) -> list[E]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]


class TestHost:
    """A runtime with one session that is opened on first use."""

    __test__ = False

    def __init__(self, runtime: Runtime, wish: Mapping[str, object]) -> None:
        self.runtime = runtime
        self._wish = wish
        self._session: Session | None = None
        self._prompt: FakePrompt | None = None

    async def session(self) -> Session:
        """The session, opened on first use."""
        from hermes_plugins import SessionWish

        if self._session is None:
            self._session = await self.runtime.open_session(
                msgspec.convert({}, SessionWish) if not self._wish else SessionWish(**self._wish)  # type: ignore[arg-type]
            )
        return self._session

    async def prompt(self) -> FakePrompt:
        """The prompt of the session, to type slash commands into."""
        from hermes_core.faces import RuntimeFace

        if self._prompt is None:
            self._prompt = FakePrompt(RuntimeFace(self.runtime, "prompt"), await self.session())
        return self._prompt

    async def face(self, name: str) -> tuple[FaceSpec, FaceHost]:
        """What a plugin offers as a face of the gateway, and what the gateway would make it with.

        Raises:
            LookupError: no plugin offers it.
        """
        from hermes_core.faces import RuntimeFace
        from hermes_plugins._faces import FaceSpec

        for loaded in await self.runtime.host.load("hermes.platforms", [name]):
            for spec in loaded.platforms:
                if isinstance(spec, FaceSpec) and spec.id == name:
                    return spec, RuntimeFace(self.runtime, loaded.name)
        raise LookupError(f"no face {name!r} is offered: {self.problems}")

    @property
    def workspace(self) -> Path:
        """The folder that the session works in."""
        return self.runtime.cwd

    @property
    def problems(self) -> list[str]:
        """What the host has to tell about its plugins, a line each."""
        return [f"{one.plugin}: {one.text}" for one in self.runtime.host.problems]

    def records(self, plugin: str, namespace: str) -> Records:
        """What a plugin keeps, as it sees it through its own handle."""
        return self.runtime.handle(plugin).records(namespace)

    async def watched(self) -> None:
        """Return when every ``hermes_on_*`` hook has seen what happened so far."""
        await self.runtime.host.dispatch.drain(10.0)

    async def ask(self, text: str | Message) -> Asked:
        """Run one turn to its end."""
        session = await self.session()
        events: list[Event] = []
        async with session.run(text) as run:
            async for event in run:
                events.append(event)
        assert run.end is not None, "a turn ended without its last event"
        return Asked(events=tuple(events), end=run.end)

    async def close(self) -> None:
        """End the session and the runtime; watchers have seen everything then."""
        session = self._prompt.session if self._prompt is not None else self._session
        if session is not None:
            await session.close()
        await self.runtime.close()


HostFactory = Callable[..., AbstractAsyncContextManager[TestHost]]


@pytest.fixture
def hermes(hermes_home: Path, tmp_path: Path) -> HostFactory:
    """A function that opens a host; use it as ``async with hermes(...) as host``.

    ``plugins`` maps ``(group, name)`` to a plugin object or driver, as an entry point would name
    it; installed built-ins are there too. ``server`` is a `ScriptedServer` to talk to. ``settings``
    are dotted keys of hermes.yaml. The rest goes to the session (``toolsets``, ``approver``,
    ``max_turns``, ``mode``, ``resume``).
    """
    workspace = tmp_path / "workspace"
    workspace.mkdir()

    @asynccontextmanager
    async def open_host(
        *,
        plugins: Mapping[tuple[str, str], object] | None = None,
        modules: Sequence[str] = (),
        server: ScriptedServer | None = None,
        settings: Mapping[str, object] | None = None,
        clock: Clock | None = None,
        approver: Approver | None = None,
        **wish: object,
    ) -> AsyncIterator[TestHost]:
        from hermes_core.paths import resolve_paths
        from hermes_core.runtime import open_runtime

        overrides = dict(settings or {})
        if server is not None:
            overrides.setdefault("model.provider", "custom")
            overrides.setdefault("model.base_url", server.url)
            overrides.setdefault("model.name", "scripted")
        environ = dict(os.environ)
        runtime = await open_runtime(
            resolve_paths(environ),
            environ=environ,
            cwd=workspace,
            overrides=overrides,
            modules=modules,
            objects=plugins,
            clock=clock,
        )
        host = TestHost(runtime, {**wish, "approver": approver})
        try:
            yield host
        finally:
            await host.close()

    return open_host
