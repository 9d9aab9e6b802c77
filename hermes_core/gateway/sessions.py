"""Conversations and their sessions: which one a message belongs to, and which are open.

A conversation is a chat, a thread in it, and a person; its session goes on after a restart. Few are open
at a time: one that nobody used for a while is closed, and read again when it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hermes_plugins._faces import SessionWish
from hermes_plugins._platforms import InboundMessage

if TYPE_CHECKING:
    from hermes_core.agent.agent import Session
    from hermes_core.runtime import Runtime


def conversation_of(message: InboundMessage, *, shared: bool) -> str:
    """The key of a message's conversation: platform, chat, thread, sender.

    Without the sender only where all of a group share one session: a chat that is named after a person
    may be another person's tomorrow.
    """
    sender = "" if shared and message.group else message.sender
    parts = (message.platform, message.chat, message.thread, sender)
    return msgspec.json.encode(parts).decode()


def is_shared(conversation: str) -> bool:
    """True where several people share the session."""
    parts: list[str] = msgspec.json.decode(conversation)
    return not parts[3]


class OpenSessions:
    """The sessions that are open in this process, by conversation, least recently used first."""

    def __init__(self, runtime: Runtime, *, limit: int) -> None:
        self._runtime = runtime
        self._limit = limit
        self._records = runtime.store.records("gateway.sessions")
        self._open: dict[str, tuple[Session, float]] = {}
        self._busy: set[str] = set()

    def __len__(self) -> int:
        return len(self._open)

    async def take(self, conversation: str, *, face: str) -> Session:
        """The session of a conversation, to be given back; new where there is none yet.

        Raises:
            SessionBusy: another process is writing it.
            HermesError: it cannot be opened (no model, a broken setting).
        """
        self._busy.add(conversation)
        try:
            kept = self._open.pop(conversation, None)
            session = kept[0] if kept else await self._opened(conversation, face)
        except BaseException:
            self._busy.discard(conversation)
            raise
        self._open[conversation] = (session, self._runtime.clock.monotonic())
        await self._close_some()
        return session

    def give_back(self, conversation: str) -> None:
        """The turn is over."""
        self._busy.discard(conversation)
        if conversation in self._open:
            session, _ = self._open.pop(conversation)
            self._open[conversation] = (session, self._runtime.clock.monotonic())

    async def forget(self, conversation: str) -> None:
        """The next message begins a new session; the old one stays in the list of sessions."""
        await self._close(conversation)
        await self._records.delete(conversation)

    async def close_unused(self, seconds: float) -> None:
        """Close what was not used for that long."""
        before = self._runtime.clock.monotonic() - seconds
        for name, (_, used) in list(self._open.items()):
            if used <= before and name not in self._busy:
                await self._close(name)

    async def close(self) -> None:
        """Close all."""
        for conversation in list(self._open):
            await self._close(conversation)

    async def _opened(self, conversation: str, face: str) -> Session:
        record = await self._records.get(conversation)
        known = str(record.value) if record is not None else ""
        if known and await self._runtime.store.get(known) is None:
            known = ""  # the owner deleted it
        session = await self._runtime.open_session(
            SessionWish(face=face, interactive=False, resume=known)
        )
        if session.info.id != known:
            await self._records.put(conversation, session.info.id)
        return session

    async def _close_some(self) -> None:
        unused = [name for name in self._open if name not in self._busy]
        for name in unused[: max(0, len(self._open) - self._limit)]:
            await self._close(name)

    async def _close(self, conversation: str) -> None:
        kept = self._open.pop(conversation, None)
        if kept is not None:
            await kept[0].close()
