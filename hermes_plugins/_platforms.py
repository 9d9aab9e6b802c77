"""Platforms: ways in and out through a chat service. Provisional.

The gateway splits, queues, authorises and commits; a platform only receives and sends.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol, TypeAlias

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Longest message, and how it is counted; ``per_second`` paces sending.

    The gateway counts `OutboundMessage.text` alone. Where the platform puts something around it (a
    name, an encoding, a line of its protocol), ``text`` leaves room for that.
    """

    text: int
    unit: Literal["characters", "utf16", "bytes"] = "characters"
    per_second: float = 1.0


class InboundMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message from outside; ``id`` deduplicates it."""

    id: str
    platform: str
    chat: str
    sender: str
    text: str
    thread: str = ""
    time: float = 0.0


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
        """Connect and receive until cancelled; a connection that is lost is made again."""

    async def send(self, message: OutboundMessage) -> Receipt:
        """Send one message that fits `limits`, once: for an ``id`` that was taken, give its receipt.

        Raises:
            HermesError: the service did not take it, or did not say so in time.
        """
