"""The search index: which words stand in which message.

One FTS5 table without contents and without positions (0.4 bytes per byte of text, where positions
make it 0.9). Chinese, Japanese and Korean runs are indexed as pairs of characters, made here, so that
any part of a run is found, and Latin words glued to them too. Asking it is `search.find`'s.
"""

from __future__ import annotations

import re
import sqlite3
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from hermes_core.store.database import Connection

CJK = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Letters of scripts that put no spaces between words, as a range for ``[]`` of a pattern."""

_INDEX = (
    "CREATE VIRTUAL TABLE message_index USING fts5(text, content='', columnsize=0,"
    " detail=none, tokenize='unicode61 remove_diacritics 2')"
)
_ADD = "INSERT INTO message_index (rowid, text) VALUES (?, ?)"
_REMOVE = "INSERT INTO message_index (message_index, rowid, text) VALUES ('delete', ?, ?)"
_POSTPONE = "INSERT OR IGNORE INTO unindexed (id) VALUES (?)"
_POSTPONED = (
    "SELECT u.id, CAST(m.role AS BLOB), CAST(m.body AS BLOB) FROM unindexed u"
    " LEFT JOIN messages m ON m.id = u.id LIMIT 500"
)


class _Part(msgspec.Struct):
    text: str = ""


class _Body(msgspec.Struct):
    parts: tuple[_Part, ...] = ()


_decode = msgspec.json.Decoder(_Body).decode


def text_of(body: bytes) -> str:
    """What is searched of a stored message; "" where it cannot be read."""
    try:
        parts = _decode(body).parts
    except (msgspec.MsgspecError, ValueError):
        return ""
    return parts[0].text if len(parts) == 1 else "".join([part.text for part in parts])


def has_index(connection: Connection) -> bool:
    """Whether the index is there; an error of SQLite that names the module: there is no FTS5."""
    try:
        connection.execute("SELECT rowid FROM message_index LIMIT 0")
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise
        return False
    return True


def make_index(connection: Connection) -> None:
    """Begin with an empty index, to which every message is to be added, if nobody has begun it."""
    if has_index(connection):
        return
    connection.execute(_INDEX)
    connection.execute("INSERT OR IGNORE INTO unindexed (id) SELECT id FROM messages")


def drop_index(connection: Connection) -> None:
    """Begin anew, where there is an index at all."""
    if not connection.indexed:
        return
    connection.execute("DROP TABLE IF EXISTS message_index")
    make_index(connection)


def is_behind(connection: Connection) -> bool:
    """Whether messages wait for `catch_up`."""
    return connection.execute("SELECT 1 FROM unindexed LIMIT 1").fetchone() is not None


def catch_up(connection: Connection) -> bool:
    """Index the next 500 messages that were left out; whether there may be more."""
    rows = connection.execute(_POSTPONED).fetchall()
    for row, role, body in rows:
        text = "" if role in (None, b"system") else text_of(body)
        if text:
            connection.execute(_ADD, (row, indexable(text)))
        connection.execute("DELETE FROM unindexed WHERE id = ?", (row,))
    return bool(rows)


def add(connection: Connection, row: int, text: str) -> None:
    """Index one message, or note that it has to be."""
    if not text:
        return
    if connection.indexed:
        connection.execute(_ADD, (row, indexable(text)))
    else:
        connection.execute(_POSTPONE, (row,))


def remove(connection: Connection, row: int, text: str) -> None:
    """Take one message out, if it is in yet; ``text`` must be what was added."""
    waits = connection.execute("DELETE FROM unindexed WHERE id = ?", (row,)).rowcount
    if text and connection.indexed and not waits:
        connection.execute(_REMOVE, (row, indexable(text)))


def indexable(text: str) -> str:
    """The text with every run of CJK characters as its pairs, and its last character alone."""
    if text.isascii():
        return text
    # Compiled when first met, which takes 2 ms, and kept by ``re``.
    return re.sub(f"[{CJK}]+", _pairs, text.lower())


def _pairs(match: re.Match[str]) -> str:
    run = match.group()
    return f" {' '.join([run[at : at + 2] for at in range(len(run))])} "
