"""Sessions, messages, leases, drafts and usage: what `Store` does to the tables.

Every function takes the connection first and does plain SQL; the writer wraps those that change
something in a transaction.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Mapping, Sequence

import msgspec

from hermes_core.store import index, repair
from hermes_core.store.database import Connection
from hermes_plugins._errors import SessionBusy, StoreError, UsageError
from hermes_plugins._messages import Message, Usage, encode_message
from hermes_plugins._store import SessionInfo, StoredMessage

LEASE_SECONDS = 30.0
"""How long a session stays taken without a sign of life from its writer."""

_INFO = (
    "SELECT id, title, face, model, workspace, parent, kind, created, updated, message_count"
    " FROM sessions"
)
_CREATE = (
    "INSERT INTO sessions (id, title, face, model, workspace, parent, kind, created, updated,"
    " message_count, system, tools) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_FILES = (
    "SELECT s.key, a.body, b.body FROM sessions s JOIN texts a ON a.id = s.system JOIN texts b ON"
)
_SETUP = f"{_FILES} b.id = s.tools WHERE s.id = ?"
HELD = "SELECT key, holder, pid, host, lease_until, fence FROM sessions WHERE id = ?"
_ALL_HELD = (
    "SELECT id, key, holder, pid, host, lease_until, fence FROM sessions WHERE lease_until > 0"
)
_TAKE = (
    "UPDATE sessions SET fence = fence + 1, holder = ?, pid = ?, host = ?, lease_until = ?"
    " WHERE key = ?"
)
_RENEW = "UPDATE sessions SET lease_until = ? WHERE key = ? AND fence = ?"
_RELEASE = (
    "UPDATE sessions SET fence = fence + 1, holder = '', lease_until = 0"
    " WHERE key = ? AND fence = ?"
)
_ADVANCE = (
    "UPDATE sessions SET message_count = message_count + ?, model_calls = model_calls + ?,"
    " updated = ?, lease_until = ? WHERE key = ? AND fence = ?"
)
INSERT = (
    "INSERT INTO messages (session, position, time, role, body)"
    " VALUES (?, ?, ?, ?, CAST(? AS TEXT))"
)
_ROWS = (
    "SELECT position, time, CAST(body AS BLOB) FROM sessions s JOIN messages m ON m.session = s.key"
    " WHERE s.id = ? AND position > ? ORDER BY position LIMIT ?"
)
_SPEND = (
    "INSERT INTO usage (session, model, input, output, cached, reasoning, cost)"
    " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session, model) DO UPDATE SET"
    " input = input + excluded.input, output = output + excluded.output,"
    " cached = cached + excluded.cached, reasoning = reasoning + excluded.reasoning,"
    " cost = CASE WHEN excluded.cost IS NULL THEN cost ELSE coalesce(cost, 0) + excluded.cost END"
)
_SPENT = (
    "SELECT u.model, input, output, cached, reasoning, cost FROM sessions s"
    " JOIN usage u ON u.session = s.key WHERE s.id = ?"
)
_DRAFT = (
    "INSERT OR REPLACE INTO drafts (session, time, text, reasoning)"
    " SELECT key, ?, ?, ? FROM sessions WHERE key = ? AND fence = ?"
)
_COUNT = (
    "UPDATE sessions SET message_count = max(message_count,"
    " (SELECT coalesce(max(position), 0) FROM messages WHERE session = key)) WHERE key = ?"
)
_COPY = (
    "SELECT position, time, role, CAST(body AS BLOB) FROM sessions s"
    " JOIN messages m ON m.session = s.key WHERE s.id = ? AND position <= ? ORDER BY position"
)
_CLASH = (
    "SELECT id, title FROM sessions WHERE (title = ?1 OR (id >= ?1 AND id < ?2)) AND id <> ?3"
    " LIMIT 1"
)


class Now(msgspec.Struct, frozen=True, kw_only=True):
    """The time and the machine."""

    time: float
    host: str


class Token(msgspec.Struct, frozen=True):
    """Proof of the right to write: the session, its row and the count of takings."""

    session_id: str
    key: int
    fence: int


# --------------------------------------------------------------------------------------
# Reading
# --------------------------------------------------------------------------------------


def get(connection: Connection, session_id: str) -> SessionInfo | None:
    """One session."""
    found = _infos(connection, "WHERE id = ?", (session_id,))
    return found[0] if found else None


def named(connection: Connection, name: str) -> list[SessionInfo]:
    """The session with that id; else those with that title, and the one whose id begins so."""
    if exact := get(connection, name):
        return [exact]
    if not name:
        return []
    found = _infos(connection, "WHERE title = ? ORDER BY updated DESC", (name,))
    begin = _infos(connection, "WHERE id >= ? AND id < ? LIMIT 2", (name, name + "\U0010ffff"))
    if len(begin) == 1 and begin[0] not in found:
        found.append(begin[0])
    return sorted(found, key=lambda info: info.updated, reverse=True)


def recent(connection: Connection, limit: int, before: float | None) -> list[SessionInfo]:
    """Sessions by last use, newest first."""
    until = float("inf") if before is None else before
    return _infos(
        connection, "WHERE updated < ? ORDER BY updated DESC, key DESC LIMIT ?", (until, limit)
    )


def messages(
    connection: Connection, session_id: str, after: int = 0, limit: int | None = None
) -> list[StoredMessage]:
    """Messages of a session in order; none of an unknown one."""
    row = (session_id, after, -1 if limit is None else limit)
    return repair.read(connection.execute(_ROWS, row), session_id)


def setup(connection: Connection, session_id: str) -> tuple[str, bytes]:
    """System prompt and tool list, as stored."""
    found = connection.execute(_SETUP, (session_id,)).fetchone()
    if found is None:
        raise unknown(session_id)
    return found[1].decode(), found[2]


def usage(connection: Connection, session_id: str) -> dict[str, Usage]:
    """What each model used."""
    return {
        model: Usage(input=read, output=written, cached=cached, reasoning=thought, cost=cost)
        for model, read, written, cached, thought, cost in connection.execute(_SPENT, (session_id,))
    }


def _infos(connection: Connection, where: str, values: Sequence[object]) -> list[SessionInfo]:
    rows = connection.execute(f"{_INFO} {where}", values).fetchall()
    fields = SessionInfo.__struct_fields__
    return [
        SessionInfo(
            **dict(zip(fields, row, strict=False)),
            usage=sum(usage(connection, row[0]).values(), Usage()),
        )
        for row in rows
    ]


# --------------------------------------------------------------------------------------
# The lease
# --------------------------------------------------------------------------------------


def take(connection: Connection, session_id: str, name: str, host: str, now: float) -> Token:
    """Take the right to write for this process, if nobody alive has it."""
    found = connection.execute(HELD, (session_id,)).fetchone()
    if found is None:
        raise unknown(session_id)
    if busy := holder(found, host, now):
        raise SessionBusy(session_id, busy)
    connection.execute(_TAKE, (name, os.getpid(), host, now + LEASE_SECONDS, found[0]))
    return Token(session_id, found[0], found[5] + 1)


def holders(connection: Connection, host: str, now: float) -> list[tuple[str, str]]:
    """The sessions that are open for writing somewhere, and by whom."""
    rows = connection.execute(_ALL_HELD).fetchall()
    return [(row[0], busy) for row in rows if (busy := holder(row[1:], host, now))]


def renew(connection: Connection, token: Token, now: float) -> None:
    """Say that the writer lives."""
    if not connection.execute(_RENEW, (now + LEASE_SECONDS, token.key, token.fence)).rowcount:
        raise _lost(connection, token)


def release(connection: Connection, token: Token) -> None:
    """Give the right back; one that is gone already is fine."""
    connection.execute(_RELEASE, (token.key, token.fence))


def holder(row: tuple[int, str, int, str, float, int], host: str, now: float) -> str:
    """Who has the session now, in words; "" for nobody who lives."""
    _, name, pid, holder_host, until, _ = row
    # Far ahead: the clock was set back since. Not just ahead: the holder may have looked at it later.
    held = 0 < until - now < 2 * LEASE_SECONDS
    return name if held and (holder_host != host or is_alive(pid)) else ""


def is_alive(pid: int) -> bool:
    """Whether a process of this machine lives."""
    if os.name == "nt":
        return True  # os.kill would end it; there the lease has to run out
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def unknown(session_id: str) -> StoreError:
    return StoreError(f"there is no session {session_id}.", hint="See: hermes sessions list")


def _lost(connection: Connection, token: Token) -> StoreError:
    found = connection.execute(HELD, (token.session_id,)).fetchone()
    if found is None:
        return StoreError(f"session {token.session_id} was deleted.")
    if not found[1]:
        return StoreError(f"session {token.session_id} was given back; nothing more was written.")
    return SessionBusy(token.session_id, f"{found[1]}, which took it over")


# --------------------------------------------------------------------------------------
# Writing
# --------------------------------------------------------------------------------------


def create(connection: Connection, info: SessionInfo, system: str, tools: bytes) -> int:
    """A session without messages; ``info`` has its times. The key of its row."""
    row = (
        *(info.id, info.title, info.face, info.model, info.workspace, info.parent, info.kind),
        *(info.created, info.updated, 0),
        *(keep_text(connection, system.encode()), keep_text(connection, tools)),
    )
    try:
        return connection.execute(_CREATE, row).lastrowid or 0
    except sqlite3.IntegrityError as error:
        raise StoreError(f"there is a session {info.id} already.") from error


def begin(
    connection: Connection,
    info: SessionInfo,
    setup: tuple[str, bytes],
    messages: Sequence[Message],
    *,
    holder: tuple[str, str],
) -> Token:
    """A session that begins with ``messages``, taken for writing by ``holder`` (name, host)."""
    key = create(connection, info, *setup)
    for position, message in enumerate(messages, 1):
        row = (key, position, info.created, message.role, encode_message(message))
        _insert(connection, row, message.text)
    if messages:
        connection.execute(_COUNT, (key,))
    return take(connection, info.id, *holder, info.created)


def keep_text(connection: Connection, body: bytes) -> int:
    """The id of a text that is kept once."""
    from hashlib import blake2b

    digest = blake2b(body, digest_size=16).digest()
    connection.execute("INSERT OR IGNORE INTO texts (digest, body) VALUES (?, ?)", (digest, body))
    found = connection.execute("SELECT id FROM texts WHERE digest = ?", (digest,)).fetchone()
    return int(found[0])


def update_setup(connection: Connection, token: Token, system: str, tools: bytes) -> None:
    """Another system prompt and tool list."""
    row = (
        keep_text(connection, system.encode()),
        keep_text(connection, tools),
        token.key,
        token.fence,
    )
    changed = connection.execute(
        "UPDATE sessions SET system = ?, tools = ? WHERE key = ? AND fence = ?", row
    )
    if not changed.rowcount:
        raise _lost(connection, token)


def append(
    connection: Connection,
    token: Token,
    added: Sequence[Message],
    *,
    now: float,
    usage: Mapping[str, Usage],
    model_calls: int,
    title: str = "",
) -> list[int]:
    """Add messages at the end, unless somebody else has the session by now; their positions."""
    row = (len(added), model_calls, now, now + LEASE_SECONDS, token.key, token.fence)
    if not connection.execute(_ADVANCE, row).rowcount:
        raise _lost(connection, token)
    count = connection.execute(
        "SELECT message_count FROM sessions WHERE key = ?", (token.key,)
    ).fetchone()[0]
    positions = list(range(count - len(added) + 1, count + 1))
    for position, message in zip(positions, added, strict=True):
        body = encode_message(message)
        _insert(connection, (token.key, position, now, message.role, body), message.text)
    connection.execute("DELETE FROM drafts WHERE session = ?", (token.key,))
    spend(connection, token.key, usage)
    if title:
        entitle(connection, token.session_id, title)
    return positions


def spend(connection: Connection, key: int, usage: Mapping[str, Usage]) -> None:
    """Add up what the models used."""
    for model, used in usage.items():
        spent = (used.input, used.output, used.cached, used.reasoning, used.cost)
        connection.execute(_SPEND, (key, model, *spent))


def _insert(connection: Connection, row: tuple[int, int, float, str, bytes], text: str) -> None:
    inserted = connection.execute(INSERT, row).lastrowid or 0
    if row[3] != "system":
        index.add(connection, inserted, text)


def save_draft(connection: Connection, token: Token, draft: tuple[str, str], now: float) -> None:
    """Keep the answer so far; of a session that somebody else took: nothing."""
    connection.execute(_DRAFT, (now, *draft, token.key, token.fence))


def open_for_writing(connection: Connection, token: Token, now: float) -> list[StoredMessage]:
    """All messages, with what a killed process left open closed and the partial answer kept."""
    renew(connection, token, now)
    connection.execute(_COUNT, (token.key,))
    valid, closings = repair.mend(messages(connection, token.session_id))
    draft = connection.execute(
        "SELECT text, reasoning FROM drafts WHERE session = ?", (token.key,)
    ).fetchone()
    if draft is not None and any(draft):
        closings.append(repair.partial(*draft))
    if not closings:
        return valid
    positions = append(connection, token, closings, now=now, usage={}, model_calls=0)
    return valid + [
        StoredMessage(position=position, time=now, message=message)
        for position, message in zip(positions, closings, strict=True)
    ]


def fork(connection: Connection, session_id: str, info: SessionInfo, upto: int | None) -> None:
    """A new session with the messages (as far as ``upto``) and the setup of another."""
    system, tools = setup(connection, session_id)
    key = create(connection, info, system, tools)
    last = sys.maxsize if upto is None else upto
    for position, time, role, body in connection.execute(_COPY, (session_id, last)).fetchall():
        _insert(connection, (key, position, time, role, body), index.text_of(body))
    connection.execute(_COUNT, (key,))
    named = "UPDATE sessions SET named = (SELECT named FROM sessions WHERE id = ?) WHERE key = ?"
    connection.execute(named, (session_id, key))


def entitle(connection: Connection, session_id: str, title: str) -> None:
    """Give a session that has none yet a title that nobody chose."""
    connection.execute(
        "UPDATE sessions SET title = ? WHERE id = ? AND title = ''", (title, session_id)
    )


def rename(connection: Connection, session_id: str, title: str) -> None:
    """Give a session the title that a person chose; it must tell the session from all others."""
    row = (title, title + "\U0010ffff", session_id)
    for other, its_title in connection.execute(_CLASH, row):
        has = (
            f"has the title {title!r} already" if its_title == title else "has an id that begins so"
        )
        raise UsageError(f"session {other} {has}.", hint="Take a title that only one session has.")
    change = "UPDATE sessions SET title = ?, named = 1 WHERE id = ?"
    if not connection.execute(change, (title, session_id)).rowcount:
        raise unknown(session_id)


def set_model(connection: Connection, token: Token, model: str) -> None:
    """The model that the session goes on with."""
    row = (model, token.key, token.fence)
    if not connection.execute(
        "UPDATE sessions SET model = ? WHERE key = ? AND fence = ?", row
    ).rowcount:
        raise _lost(connection, token)
