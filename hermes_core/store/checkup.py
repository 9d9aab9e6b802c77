"""Looking through a sound file for what does not fit together, and mending that. Imported on use.

`look` changes nothing; `mend` changes what `look` tells. A file whose pages are damaged is
`salvage`'s: what that has saved comes here.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from hermes_core.store import index, sessions
from hermes_core.store.database import Connection
from hermes_core.store.sessions import Now
from hermes_core.store.transfer import LATEST
from hermes_core.store.upkeep import ID
from hermes_plugins._messages import decode_message
from hermes_plugins._platforms import InboundMessage, OutboundMessage

LEFT_SECONDS: Final = 3600.0
"""From which a lease that ran out counts as left behind; its holder may only have slept before."""

_TEXTS: Final = ("id", "title", "face", "model", "workspace", "parent", "kind", "holder", "host")
_STRAYS: Final = {
    table: f"FROM {table} WHERE session NOT IN (SELECT key FROM sessions)"
    for table in ("messages", "drafts", "usage")
}
_BARE: Final = (
    "FROM sessions WHERE system NOT IN (SELECT id FROM texts)"
    " OR tools NOT IN (SELECT id FROM texts)"
)
_UNUSED: Final = (
    "FROM texts WHERE id NOT IN (SELECT system FROM sessions)"
    " AND id NOT IN (SELECT tools FROM sessions)"
)
_NO_TIME: Final = "typeof({0}) NOT IN ('real', 'integer') OR {0} NOT BETWEEN 0 AND " + str(LATEST)
_WORD: Final = re.compile(rf"(?<!\S)[A-Za-z0-9]{{2,30}}(?!\S)|[{index.CJK}]{{2}}")
_IS_FOUND: Final = (
    "SELECT 1 FROM message_index WHERE message_index MATCH ?1 AND rowid = ?2"
    " UNION ALL SELECT 1 FROM unindexed WHERE id = ?2"
)
_KEPT: Final = (
    ("records", "namespace, key", "value", object),
    ("inbound", "key", "body", InboundMessage),
    ("outbound", "key", "body", OutboundMessage),
)
"""Tables of values besides the messages: primary key, column, what it must hold."""

_Row: TypeAlias = tuple[str, tuple[object, ...]]
"""A table and the primary key of one of its rows."""


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What does not fit. ``unreadable`` are rows of no use to anybody; ``garbled`` are sessions with
    a name or a time that is none; ``bare`` ones have no prompt, ``unused`` prompts no session.
    """

    unfound: int = 0
    strays: int = 0
    bare: int = 0
    unused: int = 0
    unreadable: tuple[_Row, ...] = ()
    garbled: tuple[int, ...] = ()
    leases: int = 0
    search: str = ""

    def lines(self) -> list[str]:
        """One sentence for each kind of thing that `mend` mends."""
        told = (
            (self.unfound, "{} that search does not find", "message"),
            (len(self.unreadable), "{} that cannot be read", "row"),
            (len(self.garbled), "{} with a name or a time that cannot be read", "session"),
            (self.strays, "{} of no session", "row"),
            (self.bare, "{} without a system prompt or tools", "session"),
            (self.leases, "{} of processes that are gone", "lease"),
            (self.unused, "{} that no session uses", "prompt or tool list"),
        )
        found = [
            text.format(f"{count:,} {noun}{'' if count == 1 else 's'}")
            for count, text, noun in told
            if count
        ]
        return [*([self.search] if self.search else []), *found]

    @property
    def takes_something(self) -> bool:
        """Whether mending takes rows out: then a copy is made first."""
        return bool(self.unreadable or self.garbled or self.strays)


def look(connection: Connection, now: Now) -> Findings:
    """Everything that users run into, tried on every row: a minute for a million messages."""
    unfound, unreadable = 0, [*_unreadable_values(connection)]
    for row, found in _messages(connection):
        unfound += found == "unfound"
        if found == "unreadable":
            unreadable.append(("messages", (row,)))
    return Findings(
        unfound=unfound,
        strays=sum(_count(connection, stray) for stray in _STRAYS.values()),
        bare=_count(connection, _BARE),
        unused=_count(connection, _UNUSED),
        unreadable=tuple(unreadable),
        garbled=tuple(_garbled(connection)),
        leases=len([*_leases(connection, now)])
        + _count(connection, f"FROM record_leases WHERE until <= {now.time - LEFT_SECONDS}"),
        search=_index_damage(connection),
    )


def _count(connection: Connection, what: str) -> int:
    return int(connection.execute(f"SELECT count(*) {what}").fetchone()[0])


def lost(connection: Connection) -> int:
    """Messages that sessions count and that are not there."""
    row = connection.execute(
        "SELECT coalesce(sum(max(0, message_count - (SELECT count(*) FROM messages"
        " WHERE session = sessions.key))), 0) FROM sessions"
    ).fetchone()
    return int(row[0])


def _messages(connection: Connection) -> Iterator[tuple[int, str]]:
    """Messages that are unreadable, or that search does not find."""
    rows = connection.execute(
        f"SELECT id, CAST(role AS BLOB), CAST(body AS BLOB), {_NO_TIME.format('time')}"
        " FROM messages ORDER BY id"
    )
    for row, role, body, no_time in rows:
        try:
            message = decode_message(body)
        except (msgspec.MsgspecError, ValueError, TypeError):
            yield row, "unreadable"
            continue
        if no_time or role != message.role.encode():
            yield row, "unreadable"
        elif connection.indexed and role != b"system" and not _is_found(connection, row, body):
            yield row, "unfound"


def _is_found(connection: Connection, row: int, body: bytes) -> bool:
    word = _WORD.search(index.text_of(body).lower())
    if word is None:
        return True
    try:
        return connection.execute(_IS_FOUND, (f'"{word.group()}"', row)).fetchone() is not None
    except sqlite3.DatabaseError:
        return False


def _index_damage(connection: Connection) -> str:
    if not connection.indexed:
        return ""
    try:
        connection.execute("INSERT INTO message_index (message_index) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        return f"The search index is damaged: {error}"
    return ""


def _unreadable_values(connection: Connection) -> Iterator[_Row]:
    for table, key, column, kind in _KEPT:
        query = f"SELECT {key}, CAST({column} AS BLOB) FROM {table}"
        for *place, value in connection.execute(query):
            try:
                msgspec.json.decode(value, type=kind)
            except (msgspec.MsgspecError, ValueError):
                yield table, tuple(place)


def _garbled(connection: Connection) -> Iterator[int]:
    texts = ", ".join(f"CAST({name} AS BLOB)" for name in _TEXTS)
    times = f"{_NO_TIME.format('created')} OR {_NO_TIME.format('updated')}"
    for key, no_time, *values in connection.execute(f"SELECT key, {times}, {texts} FROM sessions"):
        if no_time or any(_text(value) is None for value in values):
            yield key


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _leases(connection: Connection, now: Now) -> Iterator[int]:
    held = "SELECT key, '', pid, CAST(host AS BLOB), lease_until FROM sessions WHERE holder <> ''"
    for key, _, pid, host, until in connection.execute(held).fetchall():
        left = abs(until - now.time) > LEFT_SECONDS
        if left or (host == now.host.encode() and not sessions.is_alive(pid)):
            yield key


def copy(connection: Connection, to: Path) -> None:
    """The whole file, as it is now, while others go on."""
    to.touch(mode=0o600)
    with closing(sqlite3.connect(to)) as target:
        connection.backup(target)


def mend(connection: Connection, findings: Findings, now: Now) -> None:
    """Take out, fill in or give a home to what was found; the index begins anew where it has gaps."""
    for table, place in findings.unreadable:
        names = next((key for name, key, *_ in _KEPT if name == table), "id")
        where = " AND ".join(f"{name} = ?" for name in names.split(", "))
        connection.execute(f"DELETE FROM {table} WHERE {where}", place)
    for key in findings.garbled:
        _mend_session(connection, key, now)
    for (stray,) in connection.execute(f"SELECT DISTINCT session {_STRAYS['messages']}").fetchall():
        _adopt(connection, stray, now)
    for what in (_STRAYS["drafts"], _STRAYS["usage"]):
        connection.execute(f"DELETE {what}")
    if findings.bare:
        empty = sessions.keep_text(connection, b"")
        for column, text in (("system", empty), ("tools", sessions.keep_text(connection, b"[]"))):
            connection.execute(
                f"UPDATE sessions SET {column} = ? WHERE {column} NOT IN (SELECT id FROM texts)",
                (text,),
            )
    connection.execute(f"DELETE {_UNUSED}")
    for key in [*_leases(connection, now)]:  # as it is now: somebody may have taken one meanwhile
        connection.execute(
            "UPDATE sessions SET fence = fence + 1, holder = '', lease_until = 0 WHERE key = ?",
            (key,),
        )
    connection.execute("DELETE FROM record_leases WHERE until <= ?", (now.time - LEFT_SECONDS,))
    connection.execute(
        "UPDATE sessions SET message_count = max(message_count, (SELECT coalesce(max(position), 0)"
        " FROM messages WHERE session = key))"
    )
    if findings.unfound or findings.search:
        index.drop_index(connection)


def _mend_session(connection: Connection, key: int, now: Now) -> None:
    texts = ", ".join(f"CAST({name} AS BLOB)" for name in _TEXTS)
    values = connection.execute(f"SELECT {texts} FROM sessions WHERE key = ?", (key,)).fetchone()
    read = dict(zip(_TEXTS, (value.decode(errors="replace") for value in values), strict=True))
    if not ID.fullmatch(read["id"]):
        read["id"] = f"recovered_{key}"
    changes = ", ".join(f"{name} = ?" for name in read)
    connection.execute(f"UPDATE sessions SET {changes} WHERE key = ?", (*read.values(), key))
    for name in ("created", "updated"):
        connection.execute(
            f"UPDATE sessions SET {name} = ? WHERE key = ? AND ({_NO_TIME.format(name)})",
            (now.time, key),
        )


def _adopt(connection: Connection, stray: int, now: Now) -> None:
    """A session for messages whose own is gone."""
    connection.execute(
        "INSERT INTO sessions (key, id, title, face, model, workspace, parent, kind, created,"
        " updated, named, system, tools) VALUES (?1, ?2, '(recovered)', 'cli', '', '', '', '', ?3,"
        " ?3, 0, ?4, ?5)",
        (
            *(stray, f"recovered_{stray}", now.time),
            *(sessions.keep_text(connection, b""), sessions.keep_text(connection, b"[]")),
        ),
    )
