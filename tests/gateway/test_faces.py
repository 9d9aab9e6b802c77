"""Faces that the gateway runs: beside the platforms, started again, drained, and told about."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, TypeAlias

import pytest

from hermes_core.faces import RuntimeFace
from hermes_core.gateway.gateway import Gateway, read_state
from hermes_plugins import (
    ConfigError,
    FaceHost,
    FaceSpec,
    GatewayFace,
    Host,
    SessionWish,
    UsageError,
    hookimpl,
)
from hermes_plugins.testing import ScriptedServer, replies

Start: TypeAlias = Callable[..., AbstractAsyncContextManager[Any]]


class Desk:
    """A face that answers what is put on it, and tells what happened to it."""

    def __init__(self, face: FaceHost, log: list[str], *, falls: int = 0) -> None:
        self._face = face
        self._log = log
        self._falls = falls
        self.asked: asyncio.Queue[str] = asyncio.Queue()
        self.answers: asyncio.Queue[str] = asyncio.Queue()
        self._drained = asyncio.Event()

    async def run(self) -> None:
        self._log.append("run")
        if len(self._log) <= self._falls:
            raise OSError("the desk is taken")
        try:
            while True:
                text = await self.asked.get()
                session = await self._face.open(SessionWish(face="desk", interactive=False))
                async with session.run(text) as run:
                    async for _ in run:
                        pass
                await session.close()
                assert run.end is not None
                self.answers.put_nowait(run.end.text)
        finally:
            self._log.append("ended")

    def trouble(self) -> str:
        return "it is shaky"

    async def drain(self) -> None:
        self._log.append("drain")
        self._drained.set()


class Offers:
    """A plugin that offers the face ``desk``."""

    def __init__(
        self,
        make: Callable[[FaceHost], GatewayFace],
        check: Callable[[Host], None] | None = None,
    ) -> None:
        self._spec = FaceSpec(id="desk", make=make, check=check)

    @hookimpl
    def hermes_register_platforms(self) -> list[FaceSpec]:
        return [self._spec]


def offering(plugin: Offers) -> dict[str, Any]:
    plugins: Mapping[tuple[str, str], object] = {("hermes.platforms", "desk"): plugin}
    return {"plugins": plugins, "settings": {"platforms.desk.enabled": True}}


async def test_a_face_runs_beside_a_platform_and_is_drained_before_its_end(start: Start) -> None:
    log: list[str] = []
    desks: list[Desk] = []

    def make(face: FaceHost) -> Desk:
        assert face.host.plugin == "desk"
        desks.append(Desk(face, log))
        return desks[-1]

    with ScriptedServer(then=replies.say("hello")) as server:
        async with start(server, **offering(Offers(make))) as running:
            running.chat.say("to the platform")
            assert await running.chat.heard(1) == ["hello"]
            desks[0].asked.put_nowait("to the face")
            assert await desks[0].answers.get() == "hello"
            assert running.gateway.names == ["fake", "desk"]
            assert running.gateway.platforms == ["fake"]
        state = read_state(running.host.runtime.paths.home)
    assert log == ["run", "drain", "ended"]
    assert state is not None
    assert state.platforms["desk"].state == "stopped"


async def test_a_face_that_falls_is_started_again_and_told_once(hermes: Any) -> None:
    log: list[str] = []
    told: list[str] = []
    plugin = Offers(lambda face: Desk(face, log, falls=2))
    with ScriptedServer() as server:
        async with hermes(server=server, **offering(plugin)) as host:
            face_host, stop = partial(RuntimeFace, host.runtime), asyncio.Event()
            gateway = Gateway(host.runtime, pid=1, face_host=face_host, tell=told.append)
            await gateway.load()
            task = asyncio.create_task(gateway.run(stop))
            async with host.runtime.clock.timeout(20):
                while log.count("run") < 3:
                    await asyncio.sleep(0.01)
            state = read_state(host.runtime.paths.home)
            stop.set()
            await task
    assert told == ["desk fell and is started again: OSError: the desk is taken"]
    assert state is not None
    assert state.platforms["desk"].trouble == "it is shaky"
    assert state.platforms["desk"].last_error == "OSError: the desk is taken"


def no_desk(host: Host) -> None:
    raise ConfigError("the desk has no legs.", hint="`hermes config set plugins.desk.legs 4`")


async def test_what_a_face_says_is_missing_is_told_and_the_others_run(start: Start) -> None:
    log: list[str] = []
    plugin = Offers(lambda face: Desk(face, log), no_desk)
    with ScriptedServer(then=replies.say("hello")) as server:
        async with start(server, **offering(plugin)) as running:
            running.chat.say("one")
            assert await running.chat.heard(1) == ["hello"]
            state = read_state(running.host.runtime.paths.home)
            assert "desk: the desk has no legs." in running.host.problems
    assert log == []
    assert state is not None
    assert state.platforms["desk"].state == "not loaded"
    assert "plugins.desk.legs" in state.platforms["desk"].trouble


@pytest.mark.parametrize(
    ("check", "hint"),
    [(no_desk, "plugins.desk.legs 4"), (lambda host: host.nothing, "plugins list")],
)
async def test_a_face_alone_that_cannot_run_ends_the_gateway_with_what_to_do(
    hermes: Any, check: Callable[[Host], None], hint: str
) -> None:
    plugin = Offers(lambda face: Desk(face, []), check)
    async with hermes(**offering(plugin)) as host:
        gateway = Gateway(host.runtime, pid=1, face_host=partial(RuntimeFace, host.runtime))
        with pytest.raises(UsageError, match="no enabled platform can be started") as told:
            await gateway.load()
    assert hint in told.value.hint
