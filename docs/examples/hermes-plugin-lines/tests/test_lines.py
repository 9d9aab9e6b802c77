"""The platform lines: the kit's suite, against a service on loopback that this test plays."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hermes_plugin_lines import Settings, hermes_register_platforms
from hermes_plugin_lines.connection import Lines

from hermes_plugins import DeliveryError, OutboundMessage, Platform
from hermes_plugins.testing import (
    FakeHost,
    FakeInbox,
    PlatformConformance,
)


class Service:
    """The other end: notes what it takes, a key once."""

    def __init__(self) -> None:
        self.taken: dict[str, str] = {}
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
                self.taken.setdefault(message["key"], message["text"])
                self.changed.notify_all()
            number = list(self.taken).index(message["key"])
            writer.write(json.dumps({"took": message["key"], "as": number}).encode() + b"\n")
        writer.close()

    async def say(self, line: dict[str, str]) -> None:
        await self.connected.wait()
        assert self.writer is not None
        self.writer.write(json.dumps(line).encode() + b"\n")

    async def close(self) -> None:
        self.server.close()
        if self.writer is not None:
            self.writer.close()


def platform(port: int) -> Lines:
    return Lines(FakeHost(Path("home"), plugin="lines", section=Settings(port=port)))


class TestLines(PlatformConformance):
    async def connect(self) -> Platform:
        self.service = Service()
        return platform(await self.service.open())

    async def arrive(self, number: str, text: str) -> None:
        await self.service.say({"id": number, "room": "room", "from": "ada", "text": text})

    async def sent(self, count: int) -> Sequence[str]:
        async with self.service.changed:
            await self.service.changed.wait_for(lambda: len(self.service.taken) >= count)
        return list(self.service.taken.values())

    async def disconnect(self) -> None:
        await self.service.close()


async def test_without_a_connection_it_says_so() -> None:
    with pytest.raises(DeliveryError, match="not connected"):
        await platform(1).send(OutboundMessage(id="a", chat="room", text="Hi"))


async def test_a_lost_connection_ends_it_so_that_the_gateway_starts_it_again() -> None:
    service = Service()
    lines = platform(await service.open())
    running = asyncio.create_task(lines.run(FakeInbox()))
    await service.connected.wait()
    assert service.writer is not None
    service.writer.close()
    await asyncio.wait({running})
    assert running.exception() is not None
    assert lines.trouble() == "not connected"
    await service.close()


def test_the_gateway_makes_it_from_the_plugins_handle() -> None:
    (spec,) = hermes_register_platforms()
    assert spec.id == "lines"
    assert isinstance(spec.make(FakeHost(Path("home"), plugin="lines")), Lines)
