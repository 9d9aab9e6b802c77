"""A gateway in this process: a real host, a scripted model, platforms in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TypeAlias

import pytest

from hermes_core.faces import RuntimeFace
from hermes_core.gateway.gateway import Gateway
from hermes_plugins import Host, InboundMessage, OutboundMessage, Platform, PlatformSpec, hookimpl
from hermes_plugins.testing import FakePlatform, ScriptedServer, TestHost
from hermes_plugins.testing._host import HostFactory


class Chat(FakePlatform):
    """A platform in memory on which tests write and wait for answers."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 0
        self._news = asyncio.Condition()

    def say(
        self,
        text: str,
        *,
        sender: str = "ada",
        chat: str = "",
        ident: str = "",
        group: bool = False,
    ) -> None:
        self._count += 1
        self.arrive(
            InboundMessage(
                id=ident or f"in-{self._count}",
                platform=self.id,
                chat=chat or sender,
                sender=sender,
                text=text,
                group=group,
            )
        )

    async def send(self, message: OutboundMessage):  # type: ignore[no-untyped-def]
        receipt = await super().send(message)
        async with self._news:
            self._news.notify_all()
        return receipt

    async def heard(self, count: int) -> list[str]:
        """Wait for that many answers; the texts of all."""
        from hermes_core.clock import SystemClock

        async with SystemClock().timeout(20), self._news:
            await self._news.wait_for(lambda: len(self.sent) >= count)
        return [message.text for message in self.sent]


class Offers:
    """A plugin that offers one platform."""

    def __init__(self, make: Callable[[Host], Platform], **fields: bool) -> None:
        self._spec = PlatformSpec(id="fake", make=make, **fields)

    @hookimpl
    def hermes_register_platforms(self) -> list[PlatformSpec]:
        return [self._spec]


class Running:
    """A gateway that runs, and the host that it runs on."""

    def __init__(
        self, host: TestHost, gateway: Gateway, chat: Chat, *, stop: asyncio.Event
    ) -> None:
        self.host = host
        self.gateway = gateway
        self.chat = chat
        self.stop = stop


Start: TypeAlias = Callable[..., AbstractAsyncContextManager[Running]]


@pytest.fixture
def start(hermes: HostFactory) -> Start:
    """Runs a gateway with the platform ``fake``, on which ada may talk; starting again goes on."""

    @asynccontextmanager
    async def start(
        server: ScriptedServer,
        *,
        settings: Mapping[str, object] | None = None,
        make: Callable[[Chat], Callable[[Host], Platform]] | None = None,
        plugins: Mapping[tuple[str, str], object] | None = None,
        allow: Sequence[str] = ("ada", "bob"),
        **fields: bool,
    ) -> AsyncIterator[Running]:
        chat = Chat()
        offered = Offers(make(chat) if make else lambda host: chat, **fields)
        wanted = {
            "platforms.fake.enabled": True,
            "platforms.fake.allow": list(allow),
            "platforms.fake.per_second": 1000,
            **(settings or {}),
        }
        objects = {("hermes.platforms", "fake"): offered, **(plugins or {})}
        async with hermes(plugins=objects, server=server, settings=wanted) as host:
            gateway = Gateway(host.runtime, pid=1, face_host=partial(RuntimeFace, host.runtime))
            stop = asyncio.Event()
            await gateway.load()
            task = asyncio.create_task(gateway.run(stop))
            try:
                yield Running(host, gateway, chat, stop=stop)
            finally:
                stop.set()
                await asyncio.wait({task})
            task.result()

    return start
