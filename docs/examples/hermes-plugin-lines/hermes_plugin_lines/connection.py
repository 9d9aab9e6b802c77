"""The service sends and takes JSON, one object a line.

In: ``{"id": 7, "room": "garden", "from": "ada", "text": "Hi"}`` for what somebody wrote. Out:
``{"key": KEY, "room": …, "text": …}``, which it answers with ``{"took": KEY, "as": 8}`` or
``{"refused": KEY, "why": "…"}``.
"""

from __future__ import annotations

import asyncio
import json
from typing import ClassVar

from hermes_plugins import (
    HermesError,
    Host,
    InboundMessage,
    Inbox,
    Limits,
    OutboundMessage,
    Receipt,
)

from . import Settings

PAUSE = 5.0
"""Seconds between two attempts to connect."""
PATIENCE = 10.0
"""Seconds that the service may take to say that it has a message."""
REMEMBERED = 1000
"""Receipts that are kept, so that a message which is sent again reaches people once."""


class LinePlatform:
    """Implements `Platform`."""

    id: ClassVar[str] = "lines"
    limits: ClassVar[Limits] = Limits(text=2000, unit="characters", per_second=5.0)

    def __init__(self, host: Host) -> None:
        self._host = host
        self._settings = host.section(Settings)
        self._writer: asyncio.StreamWriter | None = None
        self._waiting: dict[str, asyncio.Future[Receipt]] = {}
        self._receipts: dict[str, Receipt] = {}

    async def run(self, inbox: Inbox) -> None:
        """Receive until cancelled; a lost connection, or one that speaks nonsense, is made again."""
        while True:
            try:
                await self._connected(inbox)
            except* (OSError, ValueError) as lost:
                self._host.log.warning("%s: %s", self.id, lost.exceptions[0])
            await self._host.clock.sleep(PAUSE)

    async def send(self, message: OutboundMessage) -> Receipt:
        """Send one message, once.

        Raises:
            HermesError: there is no connection, or the service refuses or stays silent.
        """
        if message.id in self._receipts:
            return self._receipts[message.id]
        if self._writer is None:
            raise HermesError(f"{self.id}: not connected.", hint="Is the service running?")
        answer: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        self._waiting[message.id] = answer
        line = {"key": message.id, "room": message.chat, "text": message.text}
        try:
            self._writer.write(json.dumps(line).encode() + b"\n")
            async with self._host.clock.timeout(PATIENCE):
                receipt = await answer
        except TimeoutError:
            raise HermesError(f"{self.id}: the service did not take the message.") from None
        finally:
            self._waiting.pop(message.id, None)
        self._receipts[message.id] = receipt
        if len(self._receipts) > REMEMBERED:
            del self._receipts[next(iter(self._receipts))]  # the oldest
        return receipt

    async def _connected(self, inbox: Inbox) -> None:
        reader, self._writer = await asyncio.open_connection(
            self._settings.host, self._settings.port
        )
        arrived: asyncio.Queue[InboundMessage] = asyncio.Queue()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._deliver(arrived, inbox))
                tasks.create_task(self._read(reader, arrived))
        finally:
            self._writer.close()
            self._writer = None
            for key in list(self._waiting):
                self._fail(key, "the connection was lost")

    async def _deliver(self, arrived: asyncio.Queue[InboundMessage], inbox: Inbox) -> None:
        """One after the other: `deliver` returns when the message is safe, whatever it answers."""
        while True:
            await inbox.deliver(await arrived.get())

    async def _read(
        self, reader: asyncio.StreamReader, arrived: asyncio.Queue[InboundMessage]
    ) -> None:
        while line := await reader.readline():
            match json.loads(line):
                case {"took": str(key), "as": number}:
                    answer = self._waiting.get(key)
                    if answer is not None and not answer.done():
                        answer.set_result(Receipt(id=str(number)))
                case {"refused": str(key), "why": why}:
                    self._fail(key, f"refused: {why}")
                case {"id": number, "room": str(room), "from": str(sender), "text": str(text)}:
                    message = InboundMessage(
                        id=str(number), platform=self.id, chat=room, sender=sender, text=text
                    )
                    arrived.put_nowait(message)
        raise ConnectionError("the service hung up")

    def _fail(self, key: str, why: str) -> None:
        answer = self._waiting.get(key)
        if answer is not None and not answer.done():
            answer.set_exception(HermesError(f"{self.id}: {why}."))
