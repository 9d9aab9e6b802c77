"""Answers on their way out: one courier a platform takes them from the store, in order in each chat.

A message counts as delivered with the platform's receipt only. What was not sent is tried again with
growing pauses; what may have been sent is not repeated, unless the service knows our ids: then the
person is told instead.
"""

from __future__ import annotations

import asyncio
import logging
import random
from typing import Final

import msgspec

from hermes_core.gateway.splitting import split
from hermes_core.gateway.supervisor import attempted, one_line, pause
from hermes_core.store.mailbox import Draft, Mailbox, Posted, Received
from hermes_plugins._clock import Clock
from hermes_plugins._errors import DeliveryError
from hermes_plugins._platforms import (
    InboundMessage,
    Limits,
    OutboundMessage,
    Platform,
    PlatformSpec,
    Receipt,
)

SEND_SECONDS: Final = 60.0
"""What a platform gets to send one message."""
EXPIRES: Final = 24 * 3600.0
"""Seconds after which an answer is no longer worth sending."""
QUESTION: Final = 60
"""Characters of a question that a note about it repeats."""

_UNSURE = "I cannot tell whether my answer to {!r} reached you whole. If it did not, ask me again."
_REFUSED = "My answer to {!r} could not be sent: {}"

_log = logging.getLogger("hermes.gateway")
_random = random.SystemRandom()


def answer_drafts(received: Received, text: str, limits: Limits) -> list[Draft]:
    """The messages that answer one; their ids are the same whenever they are made."""
    message = received.message
    return [
        Draft(
            platform=message.platform,
            message=_to(message, part, ident=f"{received.key}.{number}"),
            question=beginning(message.text),
        )
        for number, part in enumerate(split(text, limits), 1)
    ]


def note_draft(message: InboundMessage, text: str, *, ident: str) -> Draft:
    """A note to a chat: sent at least once, and never worth a note itself."""
    return Draft(platform=message.platform, message=_to(message, text, ident=ident))


def beginning(text: str) -> str:
    """The first words of a text, in a line."""
    line = " ".join(text.split())
    return line if len(line) <= QUESTION else line[: QUESTION - 1] + "…"


def _to(message: InboundMessage, text: str, *, ident: str) -> OutboundMessage:
    return OutboundMessage(
        id=ident, chat=message.chat, thread=message.thread, text=text, reply_to=message.id
    )


class Courier:
    """Sends for one platform, one message at a time."""

    def __init__(
        self, name: str, *, mailbox: Mailbox, clock: Clock, per_second: float | None = None
    ) -> None:
        self._name = name
        self._mailbox = mailbox
        self._clock = clock
        self._per_second = per_second
        self._woken = asyncio.Event()
        self._platform: Platform | None = None
        self._spec: PlatformSpec | None = None
        self._tokens = 1.0
        self._counted = clock.monotonic()
        self.limits = Limits(text=400, unit="bytes")
        """Of the platform, once it was made."""
        self.idle = False
        """True while there is nothing to send now."""

    def use(self, spec: PlatformSpec, platform: Platform) -> None:
        """Send with this one from now on."""
        self._spec, self._platform = spec, platform
        limits = platform.limits
        if self._per_second is not None:
            limits = msgspec.structs.replace(limits, per_second=self._per_second)
        self.limits = limits
        self._tokens = float(limits.burst)
        self.wake()

    def wake(self) -> None:
        """There may be something to send."""
        self.idle = False
        self._woken.set()

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            self._woken.clear()
            posted = await self._mailbox.due(self._name)
            if posted is None or self._platform is None:
                self.idle = not self._woken.is_set()
                await self._woken.wait()
            elif (wait := posted.due - self._clock.now()) > 0:
                await self._rest(wait)
            else:
                await self._deliver(posted, self._platform)

    async def _rest(self, seconds: float) -> None:
        self.idle = not self._woken.is_set()
        try:
            async with self._clock.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            pass

    async def _deliver(self, posted: Posted, platform: Platform) -> None:
        if posted.unsure and self._may_not_repeat(posted):
            await self._give_up(posted, "no receipt", note=_UNSURE.format(posted.draft.question))
        elif self._clock.now() - posted.time > EXPIRES:
            await self._give_up(posted, "too old")
        else:
            await self._pace()
            await self._mailbox.sending(posted.key)
            outcome = await attempted(self._sent(platform, posted.draft.message))
            await self._note_outcome(posted, outcome)

    async def _sent(self, platform: Platform, message: OutboundMessage) -> Receipt:
        async with self._clock.timeout(SEND_SECONDS):
            return await platform.send(message)

    async def _note_outcome(self, posted: Posted, outcome: Receipt | Exception) -> None:
        if isinstance(outcome, Receipt):
            await self._mailbox.sent(posted.key, outcome.id)
            return
        text = one_line(outcome)
        fate = outcome.fate if isinstance(outcome, DeliveryError) else "unknown"
        if fate == "refused":
            note = _REFUSED.format(posted.draft.question, text) if posted.draft.question else ""
            await self._give_up(posted, text, note=note)
        elif fate == "unknown" and self._may_not_repeat(posted):
            await self._give_up(posted, text, note=_UNSURE.format(posted.draft.question))
        else:
            asked = outcome.retry_after if isinstance(outcome, DeliveryError) else 0.0
            wait = max(asked, pause(posted.attempts + 1, _random.random()))
            _log.info("%s: not sent yet: %s", self._name, text)
            await self._mailbox.postpone(posted.key, due=self._clock.now() + wait, error=text)

    def _may_not_repeat(self, posted: Posted) -> bool:
        """A note may come twice; an answer only where the service knows it again."""
        return bool(posted.draft.question) and not (self._spec and self._spec.keeps_keys)

    async def _give_up(self, posted: Posted, error: str, *, note: str = "") -> None:
        _log.warning("%s: message %s given up: %s", self._name, posted.draft.message.id, error)
        message = posted.draft.message
        told = msgspec.structs.replace(
            message, id=f"{message.id}.note", text=split(note, self.limits)[0] if note else ""
        )
        notes = [Draft(platform=self._name, message=told)] if note else []
        await self._mailbox.give_up(posted.key, error, notes, time=self._clock.now())

    async def _pace(self) -> None:
        """Wait until one more message is within what the platform allows."""
        now = self._clock.monotonic()
        gained = (now - self._counted) * self.limits.per_second
        self._tokens = min(float(self.limits.burst), self._tokens + gained)
        self._counted = now
        if self._tokens < 1:
            await self._clock.sleep((1 - self._tokens) / self.limits.per_second)
            self._counted = self._clock.monotonic()
            self._tokens = 1.0
        self._tokens -= 1
