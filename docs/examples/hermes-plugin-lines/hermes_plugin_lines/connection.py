"""The service sends and takes JSON, one object a line.

In: ``{"id": 7, "room": "garden", "from": "ada", "text": "Hi"}`` for what somebody wrote. Out: ``{"key":
KEY, "room": …, "text": …}``, which it answers with ``{"took": KEY, "as": 8}``. It takes a key once.
"""

from __future__ import annotations

import asyncio
import json
from typing import ClassVar

from hermes_plugins import (
    DeliveryError,
    Host,
    InboundMessage,
    Inbox,
    Limits,
    OutboundMessage,
    Receipt,
)

from . import Settings

PATIENCE = 10.0
"""Seconds that the service may take to say that it has a message."""


class Lines:
    """Implements `Platform`."""

    id: ClassVar[str] = "lines"
    limits: ClassVar[Limits] = Limits(text=2000, unit="characters", per_second=5.0)

    def __init__(self, host: Host) -> None:
        self._host = host
        self._settings = host.section(Settings)
        self._writer: asyncio.StreamWriter | None = None
        self._waiting: dict[str, asyncio.Future[Receipt]] = {}

    async def run(self, inbox: Inbox) -> None:
        """Receive until cancelled, or until the connection is lost: the gateway calls again."""
        reader, self._writer = await asyncio.open_connection(
            self._settings.server, self._settings.port
        )
        arrived: asyncio.Queue[InboundMessage] = asyncio.Queue()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._deliver(arrived, inbox))
                tasks.create_task(self._read(reader, arrived))
        finally:
            self._writer.close()
            self._writer = None

    def trouble(self) -> str:
        """What `hermes gateway status` shows while something is wrong."""
        return "" if self._writer is not None else "not connected"

    async def send(self, message: OutboundMessage) -> Receipt:
        """Send one message; `OutboundMessage.id` is the key, so that sending it again is harmless.

        Raises:
            DeliveryError: there is no connection, or the service stays silent.
        """
        if self._writer is None:
            raise DeliveryError("lines: not connected.", hint="Is the service running?")
        answer: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        self._waiting[message.id] = answer
        line = {"key": message.id, "room": message.chat, "text": message.text}
        try:
            self._writer.write(json.dumps(line).encode() + b"\n")
            async with self._host.clock.timeout(PATIENCE):
                return await answer
        except TimeoutError:
            text = "lines: the service did not confirm the message."
            raise DeliveryError(text, fate="unknown") from None
        finally:
            self._waiting.pop(message.id, None)

    async def _deliver(self, arrived: asyncio.Queue[InboundMessage], inbox: Inbox) -> None:
        """One after the other: `deliver` returns when the message is safe, whatever it answers."""
        while True:
            await inbox.deliver(await arrived.get())

    async def _read(
        self, reader: asyncio.StreamReader, arrived: asyncio.Queue[InboundMessage]
    ) -> None:
        while line := await reader.readline():
            match json.loads(line):
                case {"took": str(key), "as": number} if key in self._waiting:
                    self._waiting[key].set_result(Receipt(id=str(number)))
                case {"id": number, "room": str(room), "from": str(sender), "text": str(text)}:
                    message = InboundMessage(
                        id=str(number), platform=self.id, chat=room, sender=sender, text=text
                    )
                    arrived.put_nowait(message)
        raise ConnectionError("the service hung up")
