"""Forgetting sessions: what would go, how much that is, and deleting it; giving space back."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from hermes_core.patterns import lazy
from hermes_core.store import index, sessions
from hermes_core.store.database import Connection, connect
from hermes_core.store.sessions import Now
from hermes_plugins._errors import SessionBusy, StoreError
from hermes_plugins._store import SessionInfo

SHRINK_FROM: Final = 8_000_000
"""Unused bytes from which the file is written anew; less is soon filled again."""
SHRINK_SHARE: Final = 0.2
"""Of the file that must be unused: all the rest has to be copied."""
SHRINK_UPTO: Final = 1_000_000_000
"""Bytes in use up to which that is done: others wait meanwhile, for a minute at most."""

ID: Final = lazy(r"[A-Za-z0-9_-]{1,100}")
"""Folders are named after a session: an id that is none of these could be a path."""

_FAMILY = (
    "WITH RECURSIVE family (id) AS (SELECT ?1 UNION SELECT s.id FROM family f JOIN sessions s"
    " ON s.parent = f.id WHERE s.parent <> '' AND s.kind = 'subagent')"
    " SELECT id FROM family JOIN sessions USING (id) ORDER BY id <> ?1, key"
)
_STALE = (
    "SELECT id FROM sessions s WHERE updated < ?1 AND NOT (?2 AND named)"
    " AND NOT (kind = 'subagent' AND EXISTS (SELECT 1 FROM sessions p WHERE p.id = s.parent))"
    " ORDER BY updated"
)
_BYTES = (
    "SELECT coalesce(sum(length(CAST(body AS BLOB))), 0) FROM messages m"
    " JOIN sessions s ON s.key = m.session WHERE s.id = ?"
)
_BODIES = "SELECT id, role, CAST(body AS BLOB) FROM messages WHERE session = ?"
_TEXTS = "SELECT system, tools FROM sessions WHERE key = ?"
_FORGET_TEXT = (
    "DELETE FROM texts WHERE id = ?1 AND NOT EXISTS"
    " (SELECT 1 FROM sessions WHERE system = ?1 OR tools = ?1)"
)
_BUSY = "SELECT count(*) FROM sessions WHERE holder <> '' AND lease_until > ?"


class Doomed(msgspec.Struct, frozen=True, kw_only=True):
    """A session that may go: ``family`` is itself and its sub-agents, ``holder`` who writes one of
    them. ``bytes`` are those of the messages."""

    session: SessionInfo
    family: tuple[str, ...]
    bytes: int
    holder: str


def family(connection: Connection, session_id: str) -> list[str]:
    """The session and those of its sub-agents, and of theirs."""
    return [str(row[0]) for row in connection.execute(_FAMILY, (session_id,))]


def stale(connection: Connection, before: float, keep_named: bool) -> list[str]:
    """Sessions that were last used before then, oldest first; a sub-agent's goes with its parent."""
    return [str(row[0]) for row in connection.execute(_STALE, (before, keep_named))]


def weigh(connection: Connection, ids: Sequence[str], now: Now) -> list[Doomed]:
    """What deleting these sessions would take; one that is gone is left out."""
    found = []
    for session_id in ids:
        info = sessions.get(connection, session_id)
        if info is None:
            continue
        members = family(connection, session_id)
        size = sum(connection.execute(_BYTES, (one,)).fetchone()[0] for one in members)
        holders = [_held_by(connection, one, now) for one in members]
        found.append(
            Doomed(
                session=info,
                family=tuple(members),
                bytes=size,
                holder=next(filter(None, holders), ""),
            )
        )
    return found


def _held_by(connection: Connection, session_id: str, now: Now) -> str:
    row = connection.execute(sessions.HELD, (session_id,)).fetchone()
    return sessions.holder(row, now.host, now.time) if row else ""


def delete(
    connection: Connection, ids: Sequence[str], now: Now, seen: Sequence[SessionInfo] = ()
) -> list[str]:
    """Forget sessions and those of their sub-agents, all or none; the ids of all that went.

    ``seen`` is how the caller knows them: one that was used since then stays.

    Raises:
        SessionBusy: somebody is writing one of them.
        StoreError: there is no such session, or it was used since it was seen.
    """
    gone: dict[str, None] = {}
    for session_id in ids:
        members = family(connection, session_id)
        if not members:
            raise sessions.unknown(session_id)
        gone.update(dict.fromkeys(members))
    for member in gone:
        if held := _held_by(connection, member, now):
            raise SessionBusy(member, held)
    for one in seen:
        info = sessions.get(connection, one.id)
        if info is not None and info.updated != one.updated:
            raise StoreError(f"session {one.id} was used in the meantime.")
    for member in gone:
        _forget(connection, member)
    return list(gone)


def prune(connection: Connection, seen: SessionInfo, now: Now) -> list[str]:
    """Forget a session if it is as it was seen and nobody writes it; the ids of all that went."""
    try:
        return delete(connection, [seen.id], now, [seen])
    except StoreError:
        return []


def _forget(connection: Connection, session_id: str) -> None:
    key = connection.execute(sessions.HELD, (session_id,)).fetchone()[:1]
    for row, role, body in connection.execute(_BODIES, key).fetchall():
        index.remove(connection, row, "" if role == "system" else index.text_of(body))
    texts = connection.execute(_TEXTS, key).fetchone()
    for table in ("messages", "drafts", "usage"):
        connection.execute(f"DELETE FROM {table} WHERE session = ?", key)
    connection.execute("DELETE FROM sessions WHERE key = ?", key)
    for text in texts:
        connection.execute(_FORGET_TEXT, (text,))


def forget_folders(cache: Path, ids: Sequence[str]) -> None:
    """Remove the temporary files of sessions that are gone; what cannot be removed stays."""
    import shutil

    for kind in ("scratch", "results"):
        for session_id in ids:
            if ID.fullmatch(session_id):
                shutil.rmtree(cache / kind / session_id, ignore_errors=True)


def shrink(path: Path, now: float) -> str:
    """Write the file anew without unused pages, where much is unused and nobody is at work; says what
    was done, or why not.

    Other processes may have the file open: readers go on, whoever writes waits. The store of this one
    must be closed.

    Raises:
        StoreError: the file cannot be opened.
    """
    from contextlib import closing
    from shutil import disk_usage

    with closing(connect(path)) as connection:
        size, count, unused = (
            int(connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_size", "page_count", "freelist_count")
        )
        if unused * size < SHRINK_FROM or unused < count * SHRINK_SHARE:
            return ""
        waiting = f"{megabytes(unused * size)} of state.db wait for new sessions"
        if connection.execute(_BUSY, (now,)).fetchone()[0]:
            return f"{waiting}: others are at work, so the file is not made smaller now."
        used = (count - unused) * size
        # The new file goes through the log, and the old one shrinks when that is copied back.
        if used > SHRINK_UPTO or disk_usage(path.parent).free < 3 * used:
            return f"{waiting}."
        try:
            if connection.indexed:  # what was deleted is only marked in there until it is merged
                connection.execute("INSERT INTO message_index (message_index) VALUES ('optimize')")
            connection.execute("VACUUM")
        except sqlite3.Error as error:
            return f"{waiting}: the file cannot be made smaller now ({error})."
        count -= int(connection.execute("PRAGMA page_count").fetchone()[0])
    return f"state.db is {megabytes(count * size)} smaller."


def megabytes(count: int) -> str:
    """Bytes, for a person."""
    return f"{count / 1_000_000:.1f} MB" if count >= 100_000 else f"{count / 1000:.1f} kB"
