"""Platforms: ways in and out through a chat service. Provisional until a second one is built.

The gateway authorises, commits, queues, splits, paces and repeats; a platform only receives and sends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import msgspec

from hermes_plugins._host import Host


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Longest message, and how it is counted; ``per_second`` paces sending, after ``burst`` at once.

    The gateway counts `OutboundMessage.text` alone. Where the platform puts something around it (a
    name, an encoding, a line of its protocol), ``text`` leaves room for that. ``single_line`` is True
    where a message holds no line break: every line is a message of its own.
    """

    text: int
    unit: Literal["characters", "utf16", "bytes"] = "characters"
    per_second: float = 1.0
    burst: int = 1
    single_line: bool = False


class InboundMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message from outside; ``id`` deduplicates it.

    ``chat`` is where an answer goes, ``sender`` what the owner's allow-list is compared with: the
    service's own ids. ``name`` is what the sender is called. ``group`` is True where others read too.
    """

    id: str
    platform: str
    chat: str
    sender: str
    text: str
    thread: str = ""
    time: float = 0.0
    name: str = ""
    group: bool = False


class OutboundMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message to send; the gateway may send one again, with the same ``id``."""

    id: str
    """The idempotency key: 1 to 64 characters, no spaces."""
    chat: str
    """As the platform delivered it in `InboundMessage.chat`."""
    text: str
    """May have several lines."""
    thread: str = ""
    reply_to: str = ""


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What the platform said of a message it took."""

    id: str
    time: float = 0.0


class Accepted(msgspec.Struct, frozen=True):
    """The message was committed and will be worked on."""

    session: str


class Duplicate(msgspec.Struct, frozen=True):
    """The message was here before."""


class Refused(msgspec.Struct, frozen=True):
    """The sender may not use this agent."""

    reason: str


Delivery: TypeAlias = Accepted | Duplicate | Refused


class Inbox(Protocol):
    """Where a platform puts what it receives."""

    async def deliver(self, message: InboundMessage) -> Delivery:
        """Return after the message was committed."""


class Platform(Protocol):
    """Two methods and limits; editing, typing and media are further protocols."""

    id: ClassVar[str]
    limits: ClassVar[Limits]

    async def run(self, inbox: Inbox) -> None:
        """Connect and receive until cancelled.

        It may end or raise when the connection is lost: the gateway then makes a new platform after
        a pause that grows, and tells the owner why.
        """

    async def send(self, message: OutboundMessage) -> Receipt:
        """Send one message that fits `limits`, once, and return what the service said of it.

        Raises:
            DeliveryError: the service has not taken it, or it cannot be known whether it has.
        """


@runtime_checkable
class Watched(Protocol):
    """A platform or face that knows how it is; without this the gateway only sees whether it runs."""

    def trouble(self) -> str:
        """ "" while it is connected and may be talked to, else one line that says what is wrong."""


class PlatformSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What ``hermes_register_platforms`` returns for a chat service.

    ``id`` is the name of the entry point. ``make`` is called with the plugin's handle whenever the
    platform is (re)started; import the work there. ``keeps_keys``: the service takes an
    `OutboundMessage.id` once, also after this process was killed; without it a message of which the
    receipt is missing is not repeated, and the person is told instead. ``replays``: the service keeps
    what people write while nobody listens; without it they are told after a crash.
    """

    id: str
    make: Callable[[Host], Platform]
    keeps_keys: bool = False
    replays: bool = False
