"""What every platform must do, as tests to subclass, and the two fakes that go with it.

The test plays the service that the platform connects to; the suite plays the gateway.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import ClassVar, Final, TypeVar

import pytest

from hermes_plugins._errors import HermesError
from hermes_plugins._platforms import (
    Accepted,
    Delivery,
    Duplicate,
    InboundMessage,
    Inbox,
    Limits,
    OutboundMessage,
    Platform,
    Receipt,
    Refused,
)

T = TypeVar("T")

_ID: Final = re.compile(r"[a-z][a-z0-9_-]*")
_LONG: Final = 10.0
"""Seconds after which something that has to come counts as lost."""


class FakeInbox:
    """Implements `Inbox` as a gateway would: a message is accepted once, a refused sender never.

    ``messages`` is everything that was delivered, duplicates and what was refused too; ``answers`` is
    what was answered to each, in the same order: `Accepted`, `Duplicate` or `Refused`. Senders in
    ``refused`` may not use the agent. `wait_for` waits until so many messages are there.
    """

    def __init__(self, *, refused: Collection[str] = ()) -> None:
        self.messages: list[InboundMessage] = []
        """Everything that was delivered, duplicates too."""
        self.answers: list[Delivery] = []
        """What was answered, in the same order."""
        self._refused = refused
        self._seen: set[str] = set()
        self._changed = asyncio.Condition()

    async def deliver(self, message: InboundMessage) -> Delivery:
        async with self._changed:
            self.messages.append(message)
            self.answers.append(self._answer(message))
            self._changed.notify_all()
        return self.answers[-1]

    async def wait_for(self, count: int) -> None:
        """Return when that many messages were delivered."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self.messages) >= count)

    def _answer(self, message: InboundMessage) -> Delivery:
        if message.sender in self._refused:
            return Refused(f"{message.sender} may not use this agent")
        if message.id in self._seen:
            return Duplicate()
        self._seen.add(message.id)
        return Accepted(session=f"session-of-{message.chat}")


class FakePlatform:
    """Implements `Platform` in memory: `arrive` is the service's side, ``sent`` what went out.

    `drop` ends what stands for a connection, so that `run` makes it again; while ``refusing`` is set,
    nothing is taken.
    """

    id: ClassVar[str] = "fake"
    limits: ClassVar[Limits] = Limits(text=4000)

    def __init__(self) -> None:
        self.sent: list[OutboundMessage] = []
        """What the service has taken, each message once."""
        self.refusing = False
        self._arrived: asyncio.Queue[InboundMessage | None] = asyncio.Queue()
        self._receipts: dict[str, Receipt] = {}

    def arrive(self, message: InboundMessage) -> None:
        """A message comes from outside."""
        self._arrived.put_nowait(message)

    def drop(self) -> None:
        """The connection is lost."""
        self._arrived.put_nowait(None)

    async def run(self, inbox: Inbox) -> None:
        while True:
            await self.connected(inbox)

    async def connected(self, inbox: Inbox) -> None:
        """Receive until the connection is lost."""
        while message := await self._arrived.get():
            await inbox.deliver(message)

    async def send(self, message: OutboundMessage) -> Receipt:
        if message.id not in self._receipts:
            if self.refusing:
                raise HermesError("fake: the service refuses messages.")
            self.sent.append(message)
            self._receipts[message.id] = Receipt(id=f"sent-{len(self.sent)}")
        return self._receipts[message.id]


@pytest.mark.anyio
class PlatformConformance:
    """Subclass as ``Test…`` and play the service: give `connect`, `arrive`, `sent`, `disconnect`.

    With `drop` it is also checked that ``run`` makes a lost connection again (it need not: the gateway
    makes a new platform when it ends), with `refuse` that a message
    which the service does not take is an error; without them these two tests are skipped. Not checked:
    how long the platform pauses and waits, signing in, ``thread``, ``reply_to`` and ``time``, that
    receipts are the service's own, that what is remembered is bounded.
    """

    chat: ClassVar[str] = "room"
    sender: ClassVar[str] = "ada"
    texts: ClassVar[Sequence[str]] = (
        "Hello",
        "Grüße, 你好 ☕",
        " spaces  kept ",
        "two\nlines\n\nand a third",
    )
    """What must come through unchanged, both ways. Set it to less where the service cannot carry one
    of these, and say in a test of your own what becomes of it."""

    async def connect(self) -> Platform:
        """A new platform, and behind it a service without messages."""
        raise NotImplementedError

    async def arrive(self, number: str, text: str) -> None:
        """The service passes on message ``number`` of `sender` in `chat`; maybe not the first time.

        Called while the platform runs; waits until it has connected.
        """
        raise NotImplementedError

    async def sent(self, count: int) -> Sequence[str]:
        """Wait until the service has taken ``count`` messages; the texts of all it has taken."""
        raise NotImplementedError

    async def disconnect(self) -> None:
        """End the service."""

    async def drop(self) -> None:
        """Optional: the service ends the connection and takes the next one.

        Where the platform pauses on a `VirtualClock`, move it. `arrive` comes next.
        """
        pytest.skip("drop() is not given: whether a lost connection is made again is not checked")

    async def refuse(self) -> None:
        """Optional: from now on the service refuses what is sent, in the words that it has for that."""
        pytest.skip("refuse() is not given: what becomes of a refused message is not checked")

    def carried(self, platform: Platform) -> list[str]:
        """Those of ``texts`` that the platform can carry: one with line ends only where they may be."""
        one_line = type(platform).limits.single_line
        return [text for text in self.texts if not (one_line and "\n" in text)]

    @asynccontextmanager
    async def running(self, inbox: FakeInbox | None = None) -> AsyncIterator[Platform]:
        """The platform while it runs; its task is cancelled afterwards."""
        platform = await self.connect()
        task = asyncio.create_task(platform.run(inbox or FakeInbox()))
        try:
            yield platform
        finally:
            task.cancel()
            await asyncio.wait({task}, timeout=_LONG)
            await self.disconnect()
        assert task.done(), "run() does not end when it is cancelled"
        assert task.cancelled() or task.exception() is None, "run() ended with an error"

    async def test_it_says_its_id_and_its_limits(self) -> None:
        platform = await self.connect()
        await self.disconnect()
        kind = type(platform)
        assert _ID.fullmatch(kind.id)
        assert isinstance(kind.limits, Limits)
        assert kind.limits.text > 0
        assert kind.limits.per_second > 0

    async def test_what_arrives_is_delivered_whole_and_in_order(self) -> None:
        inbox = FakeInbox()
        async with self.running(inbox) as platform:
            texts = self.carried(platform)
            for number, text in enumerate(texts):
                await _in_time(self.arrive(str(number), text))
            await _in_time(inbox.wait_for(len(texts)))
        assert [message.text for message in inbox.messages] == texts
        assert {message.platform for message in inbox.messages} == {platform.id}
        assert {message.chat for message in inbox.messages} == {self.chat}
        assert {message.sender for message in inbox.messages} == {self.sender}
        assert len({message.id for message in inbox.messages}) == len(texts)

    async def test_a_message_that_comes_again_keeps_its_id(self) -> None:
        inbox = FakeInbox()
        async with self.running(inbox):
            for number in ("7", "7", "8"):
                await _in_time(self.arrive(number, "Hello"))
            await _in_time(inbox.wait_for(3))
        assert [type(answer) for answer in inbox.answers] == [Accepted, Duplicate, Accepted]

    async def test_a_refused_sender_is_no_reason_to_stop(self) -> None:
        inbox = FakeInbox(refused={self.sender})
        async with self.running(inbox):
            await _in_time(self.arrive("1", "Hello"))
            await _in_time(self.arrive("2", "Hello?"))
            await _in_time(inbox.wait_for(2))
        assert [type(answer) for answer in inbox.answers] == [Refused, Refused]

    async def test_what_is_sent_reaches_the_service_and_has_a_receipt(self) -> None:
        async with self.running() as platform:
            await _in_time(self.arrive("1", "Hello"))
            texts = self.carried(platform)
            receipts = [
                await _in_time(platform.send(self.message(str(number), text)))
                for number, text in enumerate(texts)
            ]
            assert list(await _in_time(self.sent(len(texts)))) == texts
        assert all(receipt.id for receipt in receipts)

    async def test_one_message_sent_twice_reaches_the_service_once(self) -> None:
        async with self.running() as platform:
            await _in_time(self.arrive("1", "Hello"))
            first = await _in_time(platform.send(self.message("a", "One")))
            again = await _in_time(platform.send(self.message("a", "One")))
            await _in_time(platform.send(self.message("b", "Two")))
            assert list(await _in_time(self.sent(2))) == ["One", "Two"]
        assert first == again

    async def test_a_message_as_long_as_the_limit_goes_whole(self) -> None:
        async with self.running() as platform:
            await _in_time(self.arrive("1", "Hello"))
            longest = "x" * type(platform).limits.text
            await _in_time(platform.send(self.message("a", longest)))
            assert list(await _in_time(self.sent(1))) == [longest]

    async def test_a_lost_connection_is_made_again(self) -> None:
        inbox = FakeInbox()
        async with self.running(inbox) as platform:
            await _in_time(self.arrive("1", "Before"))
            await _in_time(inbox.wait_for(1))
            await _in_time(self.drop())
            await _in_time(self.arrive("2", "After"))
            await _in_time(inbox.wait_for(2))
            await _in_time(platform.send(self.message("a", "Back")))
            assert list(await _in_time(self.sent(1))) == ["Back"]
        assert [message.text for message in inbox.messages] == ["Before", "After"]

    async def test_a_message_that_is_not_taken_is_an_error(self) -> None:
        async with self.running() as platform:
            await _in_time(self.arrive("1", "Hello"))
            await _in_time(self.refuse())
            with pytest.raises(HermesError):
                await _in_time(platform.send(self.message("a", "One")))

    async def test_cancelling_it_ends_it_in_silence_too(self) -> None:
        async with self.running():
            await asyncio.sleep(0)

    def message(self, ident: str, text: str) -> OutboundMessage:
        """A message to `chat`."""
        return OutboundMessage(id=ident, chat=self.chat, text=text)


async def _in_time(work: Awaitable[T]) -> T:
    """What ``work`` gives; fails the test where it takes for ever."""
    from hermes_core.clock import SystemClock

    async with SystemClock().timeout(_LONG):
        return await work
