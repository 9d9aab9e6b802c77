"""The session store on SQLite: the door to everything in this folder.

Implements the kit's `SessionReader` and hands out `Records`. Writing is the kernel's own: a session is
created, taken with a lease, appended to, and given back. Methods may be called from any task of one
event loop; several processes may share the file.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar, TypeVarTuple

import msgspec

from hermes_core.store import database, index, sessions
from hermes_core.store.database import Connection
from hermes_core.store.mailbox import Mailbox
from hermes_core.store.records import NamespaceRecords
from hermes_core.store.writer import Job, Reader, Writer
from hermes_plugins._clock import Clock
from hermes_plugins._messages import Message, Usage
from hermes_plugins._store import Records, SearchAnswer, SessionInfo, StoredMessage

if TYPE_CHECKING:
    from random import Random

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

Infos: TypeAlias = list[SessionInfo]
Messages: TypeAlias = list[StoredMessage]
Positions: TypeAlias = list[int]
Findings: TypeAlias = list[str]

log = logging.getLogger("hermes.store")


class SessionSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What every request of a session begins with: the system prompt and the rendered tools."""

    system: str
    tools: bytes


class Lease:
    """The right to write one session; it lasts `sessions.LEASE_SECONDS` from its last use."""

    def __init__(self, store: Store, token: sessions.Token) -> None:
        self._store = store
        self.token = token

    @property
    def session_id(self) -> str:
        """The session."""
        return self.token.session_id

    async def renew(self) -> None:
        """Keep it for another while; call it every 10 seconds when nothing is appended.

        Raises:
            SessionBusy: somebody took the session over.
        """
        await self._store.renew(self)


class Store:
    """All sessions of one home.

    ``process`` is what others are told this process is when they want a session that it holds
    (``pid 4242 on box``). Nothing is opened, or made, before the first use. ``full_text`` False does
    without FTS5, as on an SQLite that was built without it.
    """

    def __init__(self, path: Path, *, clock: Clock, process: str, full_text: bool = True) -> None:
        self.path = path
        self._clock = clock
        self._process = process
        self._host = socket.gethostname()
        self._reader = Reader(path, full_text=full_text)
        self._writer = Writer(path, full_text=full_text)
        self._warned = False

    async def close(self) -> None:
        """Finish what was asked for, and let go of the file."""
        await self._writer.close()
        await self._reader.close()

    # ---- reading: the kit's SessionReader ------------------------------------------------

    async def get(self, session_id: str) -> SessionInfo | None:
        """One session."""
        return await self._reader.run(sessions.get, session_id)

    async def find(self, name: str) -> Infos:
        """Sessions whose id, unique id prefix or title is ``name``; newest first."""
        return await self._reader.run(sessions.named, name)

    async def messages(
        self, session_id: str, *, after: int = 0, limit: int | None = None
    ) -> Messages:
        """Messages of a session in order, from behind position ``after``; unreadable ones left out."""
        return await self._reader.run(sessions.messages, session_id, after, limit)

    async def list(self, *, limit: int = 20, before: float | None = None) -> Infos:
        """Sessions by last use, newest first."""
        return await self._reader.run(sessions.recent, limit, before)

    async def search(
        self, query: str, *, limit: int = 20, session: str = "", role: str = ""
    ) -> SearchAnswer:
        """Messages with the words of ``query``; quotes keep words together; never a syntax error."""

        def find(connection: Connection) -> SearchAnswer:
            from hermes_core.store import search

            scope = search.Scope(session=session, role=role)
            if not (connection.indexed or self._warned):
                self._warned = True
                log.warning("this Python's SQLite has no FTS5: search reads every message")
            return search.find(connection, query, scope, limit=limit)

        return await self._reader.run(find)

    def records(self, namespace: str) -> Records:
        """Small values of one namespace."""
        return NamespaceRecords(
            namespace, reader=self._reader, writer=self._writer, clock=self._clock
        )

    def mailbox(self) -> Mailbox:
        """What the gateway received and has to send."""
        return Mailbox(reader=self._reader, writer=self._writer)

    async def setup(self, session_id: str) -> SessionSetup:
        """System prompt and tool list of a session.

        Raises:
            StoreError: there is no such session.
        """
        system, tools = await self._reader.run(sessions.setup, session_id)
        return SessionSetup(system=system, tools=tools)

    async def usage(self, session_id: str) -> Mapping[str, Usage]:
        """What each model used in a session."""
        return await self._reader.run(sessions.usage, session_id)

    # ---- writing: the kernel's own -------------------------------------------------------

    async def create_session(self, info: SessionInfo, *, system: str, tools: bytes) -> None:
        """A new session without messages.

        Raises:
            StoreError: there is one with that id.
        """
        stamped = self._stamped(info)
        await self._writer.run(sessions.create, stamped, system, tools)

    async def begin_session(
        self,
        info: SessionInfo,
        *,
        system: str,
        tools: bytes,
        messages: Sequence[Message],
        holder: str,
    ) -> Lease:
        """A new session that begins with these messages, taken for writing: all in one commit.

        Raises:
            StoreError: there is one with that id.
        """
        stamped, owner = self._stamped(info), (self._named(holder), self._host)
        token = await self._writer.run(
            lambda connection: sessions.begin(
                connection, stamped, (system, tools), messages, holder=owner
            )
        )
        return Lease(self, token)

    async def fork(self, session_id: str, *, info: SessionInfo, upto: int | None = None) -> None:
        """A new session that begins with the messages and the setup of another.

        ``upto`` is the position of the last message that is copied: 0 is none, None is all.

        Raises:
            StoreError: there is no such session, or one with the new id.
        """
        stamped = self._stamped(
            msgspec.structs.replace(info, parent=session_id, kind=info.kind or "fork")
        )
        await self._writer.run(sessions.fork, session_id, stamped, upto)

    def _stamped(self, info: SessionInfo) -> SessionInfo:
        created = info.created or self._clock.now()
        return msgspec.structs.replace(info, created=created, updated=info.updated or created)

    async def acquire(self, session_id: str, *, holder: str) -> Lease:
        """Take the right to write a session: for 30 seconds, which every append renews.

        Raises:
            SessionBusy: somebody who lives has it.
            StoreError: there is no such session.
        """
        name = self._named(holder)
        # The time is looked at when it is this job's turn: by then others may have renewed theirs.
        token = await self._writer.run(
            lambda connection: sessions.take(
                connection, session_id, name, self._host, self._clock.now()
            )
        )
        return Lease(self, token)

    def _named(self, holder: str) -> str:
        return holder if self._process in holder else f"{holder} {self._process}"

    async def renew(self, lease: Lease) -> None:
        """See `Lease.renew`."""
        now = self._clock.now()
        await self._writer.run(sessions.renew, lease.token, now)

    async def release(self, lease: Lease) -> None:
        """Give the session back; one that was taken over is fine."""
        await self._writer.run(sessions.release, lease.token)

    async def open_for_writing(self, lease: Lease) -> Messages:
        """All messages of a session, made valid: a partial answer is kept and marked, calls that never
        got a result are closed as interrupted.

        Raises:
            SessionBusy: somebody took the session over.
        """
        now = self._clock.now()
        return await self._writer.run(sessions.open_for_writing, lease.token, now)

    async def append(
        self,
        lease: Lease,
        messages: Sequence[Message],
        *,
        usage: Mapping[str, Usage] | None = None,
        model_calls: int = 0,
        final: bool = False,
        title: str = "",
    ) -> Positions:
        """Add messages; returns their positions when they are committed. The draft is gone then.

        ``usage`` is added up per model. ``final``, for the commit that ends a turn: it survives a loss
        of power too. ``title``, where it is not "", names the session. A caller that is cancelled
        meanwhile may find them stored or not.

        Raises:
            SessionBusy: somebody took the session over; nothing was written.
            StoreError: the disk is full or failing.
        """
        now = self._clock.now()
        return await self._writer.run(
            lambda connection: sessions.append(
                connection,
                lease.token,
                messages,
                now=now,
                usage=usage or {},
                model_calls=model_calls,
                title=title,
            ),
            durable=final,
        )

    def save_draft(self, lease: Lease, text: str, reasoning: str) -> None:
        """Keep the answer so far, some time soon; a failure is only logged. Call it once a second."""
        now = self._clock.now()
        self._writer.post(
            Job(
                lambda connection: sessions.save_draft(
                    connection, lease.token, (text, reasoning), now
                )
            )
        )

    async def update_setup(self, lease: Lease, *, system: str, tools: bytes) -> None:
        """Replace system prompt and tool list (compression does).

        Raises:
            SessionBusy: somebody took the session over.
        """
        await self._writer.run(sessions.update_setup, lease.token, system, tools)

    async def set_model(self, lease: Lease, model: str) -> None:
        """Note the ``provider/model`` that the session goes on with.

        Raises:
            SessionBusy: somebody took the session over.
        """
        await self._writer.run(sessions.set_model, lease.token, model)

    async def entitle(self, session_id: str, title: str) -> None:
        """Give a session that has no title yet one that nobody chose."""
        await self._writer.run(sessions.entitle, session_id, title)

    async def delete(self, session_id: str) -> None:
        """Forget a session, and those of its sub-agents.

        Raises:
            SessionBusy: somebody is writing it.
            StoreError: there is no such session.
        """
        from hermes_core.store import upkeep

        await self.write(upkeep.delete, [session_id], self.now())

    # ---- what commands do with modules of this folder ------------------------------------

    async def read(self, work: Callable[[Connection, *Ts], T], *values: *Ts) -> T:
        """Have a function of this folder look."""
        return await self._reader.run(work, *values)

    async def write(self, work: Callable[[Connection, *Ts], T], *values: *Ts) -> T:
        """Have a function of this folder change something, in a transaction: all of it or nothing."""
        return await self._writer.run(work, *values)

    async def index_rest(self) -> None:
        """Have search find what was left out; minutes for a million messages."""
        while await self._writer.run(lambda one: one.indexed and index.catch_up(one)):
            pass

    def now(self) -> sessions.Now:
        """What tells a lease that holds from one that does not."""
        return sessions.Now(time=self._clock.now(), host=self._host)

    # ---- health --------------------------------------------------------------------------

    async def check(self) -> Findings:
        """What doctor should say, one sentence each; none: all is well.

        Raises:
            StoreError: the file cannot be opened at all.
        """

        def check(connection: Connection) -> Findings:
            from hermes_core.store import search

            return [*database.check(connection, self.path), *search.check(connection)]

        return await self._reader.run(check)


def new_session_id(now: float, random: Random) -> str:
    """``YYYYMMDD_HHMMSS_xxxxxx`` in the user's time zone."""
    return f"{datetime.fromtimestamp(now):%Y%m%d_%H%M%S}_{random.getrandbits(24):06x}"
