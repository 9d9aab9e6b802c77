"""The platform suite: the kit's fake passes it, and platforms that break a promise do not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar

import msgspec
import pytest

from hermes_plugins import (
    HermesError,
    InboundMessage,
    Inbox,
    Limits,
    OutboundMessage,
    Platform,
    Receipt,
)
from hermes_plugins.testing import FakeInbox, FakePlatform, PlatformConformance


class TestFakePlatform(PlatformConformance):
    kind: ClassVar[type[FakePlatform]] = FakePlatform

    async def connect(self) -> Platform:
        self.platform = self.kind()
        return self.platform

    async def arrive(self, number: str, text: str) -> None:
        self.platform.arrive(
            InboundMessage(id=number, platform="fake", chat="room", sender="ada", text=text)
        )

    async def sent(self, count: int) -> Sequence[str]:
        return [message.text for message in self.platform.sent]

    async def drop(self) -> None:
        self.platform.drop()

    async def refuse(self) -> None:
        self.platform.refusing = True


class Forgetful(FakePlatform):
    async def send(self, message: OutboundMessage) -> Receipt:
        self.sent.append(message)
        return Receipt(id=f"sent-{len(self.sent)}")


class Unlimited(FakePlatform):
    limits: ClassVar[Limits] = Limits(text=0)


class Stubborn(FakePlatform):
    async def run(self, inbox: Inbox) -> None:
        try:
            await super().run(inbox)
        except asyncio.CancelledError:
            raise ValueError("no") from None


class Fragile(FakePlatform):
    lost = False

    def drop(self) -> None:
        self.lost = True
        super().drop()

    async def send(self, message: OutboundMessage) -> Receipt:
        if self.lost:
            raise HermesError("it still writes to the old connection")
        return await super().send(message)


class Careless(FakePlatform):
    async def send(self, message: OutboundMessage) -> Receipt:
        return Receipt(id="sent") if self.refusing else await super().send(message)


class Flat(FakePlatform):
    async def send(self, message: OutboundMessage) -> Receipt:
        text = " ".join(message.text.splitlines())
        return await super().send(msgspec.structs.replace(message, text=text))


class Renumbering(FakePlatform):
    count = 0

    def arrive(self, message: InboundMessage) -> None:
        self.count += 1
        fresh = InboundMessage(
            id=str(self.count),
            platform=message.platform,
            chat=message.chat,
            sender=message.sender,
            text=message.text,
        )
        super().arrive(fresh)


@pytest.mark.parametrize(
    ("broken", "test"),
    [
        (Forgetful, "test_one_message_sent_twice_reaches_the_service_once"),
        (Unlimited, "test_it_says_its_id_and_its_limits"),
        (Stubborn, "test_cancelling_it_ends_it_in_silence_too"),
        (Fragile, "test_a_lost_connection_is_made_again"),
        (Careless, "test_a_message_that_is_not_taken_is_an_error"),
        (Flat, "test_what_is_sent_reaches_the_service_and_has_a_receipt"),
        (Renumbering, "test_a_message_that_comes_again_keeps_its_id"),
    ],
)
async def test_a_broken_promise_fails_the_suite(broken: type[FakePlatform], test: str) -> None:
    suite = TestFakePlatform()
    suite.kind = broken  # type: ignore[misc]
    with pytest.raises((AssertionError, HermesError, pytest.fail.Exception)):
        await getattr(suite, test)()


async def test_what_the_author_gives_no_hook_for_is_skipped_and_says_so() -> None:
    for hook, words in (
        (PlatformConformance.drop, "made again"),
        (PlatformConformance.refuse, "refused"),
    ):
        with pytest.raises(pytest.skip.Exception, match=words):
            await hook(TestFakePlatform())


async def test_the_inbox_refuses_and_remembers_as_a_gateway_does() -> None:
    inbox = FakeInbox(refused={"eve"})
    for number, sender in (("1", "ada"), ("1", "ada"), ("2", "eve")):
        await inbox.deliver(
            InboundMessage(id=number, platform="fake", chat="room", sender=sender, text="Hi")
        )
    await inbox.wait_for(3)
    names = [type(answer).__name__ for answer in inbox.answers]
    assert names == ["Accepted", "Duplicate", "Refused"]
