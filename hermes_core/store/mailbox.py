"""What the gateway must not lose: messages that came in until they are answered, answers until a
platform has taken them.

A message goes waiting -> running -> answered, an answer waiting -> sending -> sent or given up. Every
step is a commit, so that after a crash each can be told from the next. One gateway works on it at a
time; who holds the right to is not decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from hermes_core.store.database import Connection
from hermes_core.store.writer import Reader, Writer
from hermes_plugins._platforms import InboundMessage, OutboundMessage

WAITING: Final = 0
RUNNING: Final = 1
SENDING: Final = 1

_ACCEPT = (
    "INSERT INTO inbound (platform, id, conversation, time, body, state) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (platform, id) DO NOTHING"
)
_NEXT = (
    "SELECT key, conversation, time, body, state, session, position FROM inbound"
    " WHERE conversation = ? AND state < 2 ORDER BY key LIMIT 1"
)
_OPEN = "SELECT DISTINCT conversation FROM inbound WHERE state < 2"
_BEGIN = "UPDATE inbound SET state = 1, session = ?, position = ? WHERE key = ?"
_ANSWERED = "UPDATE inbound SET state = 2 WHERE key = ? AND state < 2"
_RECENT = (
    "SELECT body, max(key) FROM inbound WHERE platform = ? AND time >= ? GROUP BY conversation"
)
_POST = (
    "INSERT INTO outbound (id, platform, chat, time, body, question) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO NOTHING"
)
_ROW = "SELECT key, platform, time, body, question, state, attempts, due FROM outbound"
# Only the oldest of each chat: what a chat is told keeps its order, and one chat holds up no other.
_DUE = (
    f"{_ROW} WHERE state < 2 AND platform = ? AND key IN"
    " (SELECT min(key) FROM outbound WHERE state < 2 AND platform = ? GROUP BY chat)"
    " ORDER BY due, key LIMIT 1"
)
_SENDING = "UPDATE outbound SET state = 1, attempts = attempts + 1 WHERE key = ?"
_CLOSED = "UPDATE outbound SET state = ?, receipt = ?, error = ? WHERE key = ?"
_POSTPONED = "UPDATE outbound SET state = 0, due = ?, error = ? WHERE key = ?"
_PRUNE = (
    "DELETE FROM inbound WHERE state = 2 AND time < ?",
    "DELETE FROM outbound WHERE state > 1 AND time < ?",
)
_COUNTS = (
    "SELECT platform, count(*), 0 FROM inbound WHERE state < 2 GROUP BY platform UNION ALL"
    " SELECT platform, 0, count(*) FROM outbound WHERE state < 2 GROUP BY platform"
)


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """A message that was accepted. ``session`` and ``position`` are where its turn began, if it did."""

    key: int
    conversation: str
    time: float
    message: InboundMessage
    running: bool = False
    session: str = ""
    position: int = 0


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A message to send; ``question`` is the beginning of what it answers, "" for a note."""

    platform: str
    message: OutboundMessage
    question: str = ""


class Posted(msgspec.Struct, frozen=True, kw_only=True):
    """A message that waits to be sent, or whose sending has begun."""

    key: int
    time: float
    draft: Draft
    unsure: bool = False
    attempts: int = 0
    due: float = 0.0


_InboundRow: TypeAlias = tuple[int, str, float, str, int, str, int]
_OutboundRow: TypeAlias = tuple[int, str, float, str, str, int, int, float]


class Mailbox:
    """The two tables."""

    def __init__(self, *, reader: Reader, writer: Writer) -> None:
        self._reader = reader
        self._writer = writer

    # -- what came in --------------------------------------------------------------------

    async def accept(
        self, message: InboundMessage, *, conversation: str, time: float, answered: bool = False
    ) -> bool:
        """Keep a message; returns after the commit, False when it was here before."""
        body = msgspec.json.encode(message).decode()
        row = (message.platform, message.id, conversation, time, body, 2 * answered)
        return await self._writer.run(_change, _ACCEPT, row, durable=True) > 0

    async def next(self, conversation: str) -> Received | None:
        """The oldest message of a conversation that is not answered."""
        row = await self._reader.run(_one_in, conversation)
        return None if row is None else _received(row)

    async def open_conversations(self) -> Sequence[str]:
        """Conversations in which something is not answered."""
        return [str(row[0]) for row in await self._reader.run(_rows, _OPEN, ())]

    async def begin(self, key: int, *, session: str, position: int) -> None:
        """A turn begins in ``session``, behind ``position``."""
        await self._writer.run(_change, _BEGIN, (session, position, key))

    async def answer(self, key: int, drafts: Sequence[Draft], *, time: float) -> None:
        """A message is done with, and this is what goes out for it: both or neither."""

        def work(connection: Connection) -> None:
            if connection.execute(_ANSWERED, (key,)).rowcount:
                _post(connection, drafts, time)

        await self._writer.run(work, durable=True)

    async def recent(self, platform: str, *, since: float) -> Sequence[InboundMessage]:
        """The last message of each conversation of a platform in which somebody wrote since then."""
        rows = await self._reader.run(_rows, _RECENT, (platform, since))
        return [msgspec.json.decode(str(row[0]), type=InboundMessage) for row in rows]

    # -- what goes out -------------------------------------------------------------------

    async def post(self, drafts: Sequence[Draft], *, time: float) -> None:
        """Keep messages to be sent; one with an id that is there already changes nothing."""
        await self._writer.run(_post, drafts, time, durable=True)

    async def due(self, platform: str) -> Posted | None:
        """The next message to send; its ``due`` may lie ahead."""
        row = await self._reader.run(_one_out, platform)
        return None if row is None else _posted(row)

    async def sending(self, key: int) -> None:
        """It is about to go to the platform."""
        await self._writer.run(_change, _SENDING, (key,))

    async def sent(self, key: int, receipt: str) -> None:
        """The platform has taken it, and said so."""
        await self._writer.run(_change, _CLOSED, (2, receipt, "", key))

    async def give_up(
        self, key: int, error: str, notes: Sequence[Draft] = (), *, time: float
    ) -> None:
        """It will not be sent (again); ``notes`` are sent in its place."""

        def work(connection: Connection) -> None:
            connection.execute(_CLOSED, (3, "", error, key))
            _post(connection, notes, time)

        await self._writer.run(work)

    async def postpone(self, key: int, *, due: float, error: str) -> None:
        """It was not sent; try again at ``due``."""
        await self._writer.run(_change, _POSTPONED, (due, error, key))

    # -- upkeep --------------------------------------------------------------------------

    async def prune(self, *, before: float) -> None:
        """Forget what was done with before then."""
        for statement in _PRUNE:
            await self._writer.run(_change, statement, (before,))

    async def counts(self) -> dict[str, tuple[int, int]]:
        """Unanswered and unsent messages by platform."""
        counts: dict[str, tuple[int, int]] = {}
        for platform, unanswered, unsent in await self._reader.run(_totals):
            before = counts.get(platform, (0, 0))
            counts[platform] = (before[0] + unanswered, before[1] + unsent)
        return counts


def _change(connection: Connection, statement: str, row: tuple[object, ...]) -> int:
    return connection.execute(statement, row).rowcount


def _rows(connection: Connection, query: str, row: tuple[object, ...]) -> list[tuple[object, ...]]:
    return connection.execute(query, row).fetchall()


def _totals(connection: Connection) -> list[tuple[str, int, int]]:
    return connection.execute(_COUNTS).fetchall()


def _one_in(connection: Connection, conversation: str) -> _InboundRow | None:
    row: _InboundRow | None = connection.execute(_NEXT, (conversation,)).fetchone()
    return row


def _one_out(connection: Connection, platform: str) -> _OutboundRow | None:
    row: _OutboundRow | None = connection.execute(_DUE, (platform, platform)).fetchone()
    return row


def _post(connection: Connection, drafts: Sequence[Draft], time: float) -> None:
    for draft in drafts:
        body = msgspec.json.encode(draft.message).decode()
        row = (draft.message.id, draft.platform, draft.message.chat, time, body, draft.question)
        connection.execute(_POST, row)


def _received(row: _InboundRow) -> Received:
    key, conversation, time, body, state, session, position = row
    return Received(
        key=key,
        conversation=conversation,
        time=time,
        message=msgspec.json.decode(body, type=InboundMessage),
        running=state == RUNNING,
        session=session,
        position=position,
    )


def _posted(row: _OutboundRow) -> Posted:
    key, platform, time, body, question, state, attempts, due = row
    message = msgspec.json.decode(body, type=OutboundMessage)
    return Posted(
        key=key,
        time=time,
        draft=Draft(platform=platform, message=message, question=question),
        unsure=state == SENDING,
        attempts=attempts,
        due=due,
    )
