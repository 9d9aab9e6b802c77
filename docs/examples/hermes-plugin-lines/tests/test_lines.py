"""The platform lines: the kit's suite, against a service on loopback that this test plays."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hermes_plugin_lines import Settings
from hermes_plugin_lines.connection import PATIENCE, PAUSE, REMEMBERED, LinePlatform

from hermes_plugins import HermesError, OutboundMessage, Platform
from hermes_plugins.testing import FakeHost, PlatformConformance, VirtualClock


class Service:
    """The other end, for one client at a time."""

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.refusing = self.silent = False
        self.connected = asyncio.Event()
        self.changed = asyncio.Condition()
        self.writer: asyncio.StreamWriter | None = None

    async def open(self) -> int:
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        return int(self.server.sockets[0].getsockname()[1])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.connected.set()
        while line := await reader.readline():
            message = json.loads(line)
            async with self.changed:
                if not self.refusing:
                    self.taken.append(message["text"])
                self.changed.notify_all()
            if self.refusing:
                self.tell({"refused": message["key"], "why": "no such room"})
            elif not self.silent:
                self.tell({"took": message["key"], "as": len(self.taken)})
        writer.close()

    def tell(self, line: dict[str, object]) -> None:
        assert self.writer is not None
        self.writer.write(json.dumps(line).encode() + b"\n")

    async def say(self, line: dict[str, object]) -> None:
        await self.connected.wait()
        self.tell(line)

    def hang_up(self) -> None:
        self.connected.clear()
        if self.writer is not None:
            self.writer.close()

    async def takes(self, count: int) -> Sequence[str]:
        async with self.changed:
            await self.changed.wait_for(lambda: len(self.taken) >= count)
        return self.taken


class TestLinePlatform(PlatformConformance):
    async def connect(self) -> Platform:
        self.service, self.clock = Service(), VirtualClock()
        section = Settings(port=await self.service.open())
        host = FakeHost(Path("home"), plugin="lines", section=section, clock=self.clock)
        return LinePlatform(host)

    async def arrive(self, number: str, text: str) -> None:
        await self.service.say({"id": number, "room": self.chat, "from": self.sender, "text": text})

    async def sent(self, count: int) -> Sequence[str]:
        return await self.service.takes(count)

    async def disconnect(self) -> None:
        self.service.server.close()
        self.service.hang_up()

    async def drop(self) -> None:
        self.service.hang_up()
        while PAUSE not in self.clock.slept:
            await asyncio.sleep(0)
        await self.clock.advance(PAUSE)

    async def refuse(self) -> None:
        self.service.refusing = True

    async def test_a_service_that_stays_silent_has_not_taken_the_message(self) -> None:
        async with self.running() as platform:
            await self.arrive("1", "Hello")
            self.service.silent = True
            sending = asyncio.create_task(platform.send(self.message("a", "Hi")))
            await self.service.takes(1)
            await self.clock.advance(PATIENCE)
            with pytest.raises(HermesError, match="did not take"):
                await sending

    async def test_it_forgets_old_receipts(self) -> None:
        async with self.running() as platform:
            await self.arrive("1", "Hello")
            for number in range(REMEMBERED + 1):
                await platform.send(self.message(str(number), "Hi"))
            await platform.send(self.message("0", "Again"))
            await platform.send(self.message(str(REMEMBERED), "Not again"))
            assert self.service.taken[REMEMBERED + 1 :] == ["Again"]


async def test_without_a_connection_it_says_so() -> None:
    platform = LinePlatform(FakeHost(Path("home"), section=Settings(port=1)))
    with pytest.raises(HermesError, match="not connected"):
        await platform.send(OutboundMessage(id="a", chat="room", text="Hi"))
