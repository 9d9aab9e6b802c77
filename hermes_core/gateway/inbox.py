"""Where a platform puts what it receives: authorised, committed, and only then accepted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

import msgspec

from hermes_core.config_schema import PlatformSettings
from hermes_core.gateway.authorize import is_allowed
from hermes_core.gateway.delivery import Courier, note_draft
from hermes_core.gateway.sessions import conversation_of
from hermes_core.gateway.workers import Workers
from hermes_core.store.mailbox import Mailbox
from hermes_plugins._clock import Clock
from hermes_plugins._platforms import Accepted, Delivery, Duplicate, InboundMessage, Refused

MAX_TEXT: Final = 100_000
"""Characters of a message that are read."""
STOP: Final = "stop"
"""The word that does not wait for its turn."""

_log = logging.getLogger("hermes.gateway")


def command_of(text: str) -> str:
    """The gateway's own command that a message is: ``/stop`` or ``/new``; ``!`` does as well."""
    word = text.strip().casefold()
    return word[1:] if word[:1] in ("/", "!") and word[1:] in (STOP, "new") else ""


class GatewayInbox:
    """Implements the kit's `Inbox` for one platform."""

    def __init__(
        self,
        name: str,
        settings: PlatformSettings,
        *,
        mailbox: Mailbox,
        workers: Workers,
        courier: Courier,
        clock: Clock,
        refused: Callable[[str], None] = lambda sender: None,
    ) -> None:
        self._name = name
        self._settings = settings
        self._mailbox = mailbox
        self._workers = workers
        self._courier = courier
        self._clock = clock
        self._refused = refused

    async def deliver(self, message: InboundMessage) -> Delivery:
        """Return after the commit. A stranger is told nothing, and nothing of theirs is kept."""
        if not is_allowed(message.sender, self._settings.allow):
            self._refused(message.sender)
            return Refused(f"{message.sender} is not in platforms.{self._name}.allow")
        message = msgspec.structs.replace(
            message, platform=self._name, text=message.text[:MAX_TEXT]
        )
        shared = self._settings.group_sessions == "chat"
        conversation = conversation_of(message, shared=shared)
        now = self._clock.now()
        is_stop = command_of(message.text) == STOP
        is_fresh = await self._mailbox.accept(
            message,
            conversation=conversation,
            time=now,
            answered=is_stop or not message.text.strip(),
        )
        if not is_fresh:
            return Duplicate()
        if is_stop:
            if not self._workers.interrupt(conversation):
                note = note_draft(message, "Nothing is running.", ident=f"{message.id}.stop")
                await self._mailbox.post([note], time=now)
                self._courier.wake()
        else:
            self._workers.wake(conversation)
        return Accepted(session=conversation)
