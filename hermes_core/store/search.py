"""The search index, and searching.

One FTS5 index without contents and without positions (0.4 bytes per byte of text, where positions
make it 0.9). It names candidates, newest first, in half a millisecond however common the word; the
texts of the newest `WINDOW` are then read, phrases and punctuation are checked in them, and they are
ranked. FTS5's own bm25 walks through every match, which takes too long for common words.

Chinese, Japanese and Korean runs are indexed as pairs of characters, made here, so that any part of
a run is found, and Latin words glued to them too.
"""

from __future__ import annotations

import heapq
import logging
import math
import re
import sqlite3
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from hermes_core.store.query import CJK, Query, Term, expression, fold, parse, relax
from hermes_plugins._store import SearchAnswer, SearchHit

if TYPE_CHECKING:
    from hermes_core.store.database import Connection

WINDOW = 2000
"""Matches that are ranked; older ones are only said to exist."""

LOOKED_AT = 10_000
"""Candidates that are read at most when most of them fail the check of a phrase."""

BYTES_READ = 16_000_000
"""Bytes of messages that are read at most for one search, about 50 ms."""

SNIPPET = 160

_K1, _B = 1.2, 0.75
_RARITY_SAMPLE = 200

_INDEX = (
    "CREATE VIRTUAL TABLE message_index USING fts5(text, content='', columnsize=0,"
    " detail=none, tokenize='unicode61 remove_diacritics 2')"
)
_ADD = "INSERT INTO message_index (rowid, text) VALUES (?, ?)"
_REMOVE = "INSERT INTO message_index (message_index, rowid, text) VALUES ('delete', ?, ?)"
_POSTPONE = "INSERT OR IGNORE INTO unindexed (id) VALUES (?)"
_POSTPONED = (
    "SELECT u.id, m.role, CAST(m.body AS BLOB) FROM unindexed u"
    " LEFT JOIN messages m ON m.id = u.id LIMIT 500"
)
_SAMPLE = (
    "SELECT count(*), min(rowid) FROM (SELECT rowid FROM message_index WHERE message_index MATCH ?"
    " ORDER BY rowid DESC LIMIT ?)"
)
_SPAN = (
    "SELECT coalesce(min(m.id), 0), coalesce(max(m.id), 0), coalesce(m.session, 0)"
    " FROM sessions s LEFT JOIN messages m ON m.session = s.key WHERE s.id = ?"
)
_NEWEST = (
    "SELECT s.id, m.position, CAST(m.body AS BLOB) FROM messages m JOIN sessions s ON"
    " s.key = m.session WHERE m.role <> 'system' ORDER BY m.id DESC LIMIT 20"
)
_HIT = (
    "SELECT s.id, s.title, m.position, m.role, m.time, CAST(m.body AS BLOB) FROM messages m"
    " JOIN sessions s ON s.key = m.session WHERE m.id = ?"
)

_PAIRED = re.compile(f"[{CJK}]+")

log = logging.getLogger("hermes.store")


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


# --------------------------------------------------------------------------------------
# The index
# --------------------------------------------------------------------------------------


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
    """Begin anew."""
    connection.execute("DROP TABLE IF EXISTS message_index")
    make_index(connection)


def is_behind(connection: Connection) -> bool:
    """Whether messages wait for `catch_up`."""
    return connection.execute("SELECT 1 FROM unindexed LIMIT 1").fetchone() is not None


def catch_up(connection: Connection) -> bool:
    """Index the next 500 messages that were left out; whether there may be more."""
    rows = connection.execute(_POSTPONED).fetchall()
    for row, role, body in rows:
        text = "" if role in (None, "system") else text_of(body)
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
    """Take one message out; ``text`` must be what was added."""
    if text and connection.indexed:
        connection.execute(_REMOVE, (row, indexable(text)))


def indexable(text: str) -> str:
    """The text with every run of CJK characters as its pairs, and its last character alone."""
    return text if text.isascii() else _PAIRED.sub(_pairs, text.lower())


def _pairs(match: re.Match[str]) -> str:
    run = match.group()
    return f" {' '.join([run[at : at + 2] for at in range(len(run))])} "


# --------------------------------------------------------------------------------------
# Searching
# --------------------------------------------------------------------------------------


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Where to look: "" stands for every session, every role."""

    session: str = ""
    role: str = ""


_Match: TypeAlias = tuple[int, int, list[int]]
"""Row, length of the text in characters, how often each term stands in it."""


def find(connection: Connection, text: str, scope: Scope, *, limit: int) -> SearchAnswer:
    """The best of the newest matches. What finds nothing as it stands is tried as bare words."""
    query = parse(text)
    matches, more = _matches(connection, query, scope)
    literal = query.literal
    if not matches and literal:
        query = relax(text)
        matches, more = _matches(connection, query, scope)
    best = heapq.nlargest(limit, _scored(connection, query.wanted, matches))
    hits = [_hit(connection, row, query.wanted) for _, row in best]
    return SearchAnswer(hits=tuple(hit for hit in hits if hit), more=more, literal=literal)


def _matches(connection: Connection, query: Query, scope: Scope) -> tuple[list[_Match], bool]:
    """The newest matches, and whether older ones were left."""
    matches: list[_Match] = []
    if not query.alternatives:
        return matches, False
    needles = [term.needle for term in query.wanted]
    size = 0
    asked = expression(query) if connection.indexed else ""
    try:
        candidates = _candidates(connection, asked, query, scope)
    except sqlite3.OperationalError as error:
        if "fts5" not in str(error):
            raise
        # A few letters are none to FTS5's older Unicode, which then sees two words in one.
        asked = ""
        candidates = _candidates(connection, asked, query, scope)
    checked = query.checked or not asked
    for looked, (row, body) in enumerate(candidates):
        if len(matches) == WINDOW or looked == LOOKED_AT or size > BYTES_READ:
            return matches, True
        size += len(body)
        text = fold(text_of(body))
        if not checked or query.holds(text):
            matches.append((row, len(text), [text.count(needle) for needle in needles]))
    return matches, False


def _candidates(
    connection: Connection, asked: str, query: Query, scope: Scope
) -> Iterator[tuple[int, bytes]]:
    """Rows that may match, newest first: from the index, or by going through every message."""
    if asked:
        # CROSS JOIN keeps the index outside: it alone gives the newest first without sorting.
        tables, row = "message_index f CROSS JOIN messages m ON m.id = f.rowid", "f.rowid"
        where, values = ["message_index MATCH ?"], [asked]
    else:
        tables, row = "messages m", "m.id"
        like = "m.body LIKE ? ESCAPE '!'"
        where = [" OR ".join(" AND ".join(like for _ in one.wanted) for one in query.alternatives)]
        values = [_like(term.needle) for term in query.wanted]
    if scope.role:
        where.append("m.role = ?")
        values.append(scope.role)
    if scope.session:
        where.append(f"{row} BETWEEN ? AND ? AND m.session = ?")
        values.extend(connection.execute(_SPAN, (scope.session,)).fetchone())
    return connection.execute(
        f"SELECT {row}, CAST(m.body AS BLOB) FROM {tables}"
        f" WHERE ({') AND ('.join(where)}) ORDER BY {row} DESC",
        values,
    )


def _like(needle: str) -> str:
    """The needle as it stands in the stored JSON; anything, where LIKE would mind its case."""
    if not needle.isascii() and needle.upper() != needle:
        return "%"
    stored = msgspec.json.encode(needle).decode()[1:-1]
    return f"%{re.sub('[!%_]', lambda found: '!' + found.group(), stored)}%"


def _scored(
    connection: Connection, terms: Sequence[Term], matches: Sequence[_Match]
) -> Iterator[tuple[float, int]]:
    """BM25 within the matches; equal ones: the newest first."""
    if not matches:
        return
    mean = sum([length for _, length, _ in matches]) / len(matches) or 1.0
    weights = [_rarity(connection, term) for term in terms] if len(terms) > 1 else [1.0]
    for row, length, counts in matches:
        norm = _K1 * (1 - _B + _B * length / mean)
        score = 0.0
        for weight, count in zip(weights, counts, strict=True):
            score += weight * (count or 1) / ((count or 1) + norm)
        yield score, row


def _rarity(connection: Connection, term: Term) -> float:
    """The weight of a term: how many messages have it, judged by its newest ones."""
    if not connection.indexed or not term.tokens or term.tokens[0].endswith("*"):
        return 1.0
    newest = connection.execute("SELECT max(id) FROM messages").fetchone()[0] or 1
    count, oldest = connection.execute(_SAMPLE, (term.tokens[0], _RARITY_SAMPLE)).fetchone()
    span = newest - oldest + 1 if count == _RARITY_SAMPLE else newest
    return math.log(1 + span / max(count, 1))


def _hit(connection: Connection, row: int, terms: Sequence[Term]) -> SearchHit | None:
    found = connection.execute(_HIT, (row,)).fetchone()
    if found is None:
        return None
    session, title, position, role, time, body = found
    return SearchHit(
        session=session,
        title=title,
        position=position,
        role=role,
        time=time,
        snippet=_snippet(text_of(body), terms),
    )


def _snippet(text: str, terms: Sequence[Term]) -> str:
    """About `SNIPPET` characters around the first match, on one line."""
    folded = fold(text)
    places = [place for term in terms if (place := folded.find(term.needle)) >= 0]
    start = max(0, min(places, default=0) - SNIPPET // 3)
    cut = " ".join(text[start : start + SNIPPET].split())
    return f"{'…' if start else ''}{cut}{'…' if start + SNIPPET < len(text) else ''}"


def check(connection: Connection) -> list[str]:
    """Searches as a user would for a word of the newest message; what went wrong, one sentence each."""
    if not connection.indexed:
        return ["This Python's SQLite has no FTS5: search works, slowly, by reading every message."]
    newest = connection.execute(_NEWEST).fetchall()
    for session, position, body in newest:
        word = max(re.findall(r"\w+", text_of(body).replace("_", " ")), key=len, default="")
        if not word:
            continue
        answer = find(connection, word, Scope(session=session), limit=WINDOW)
        if position in [hit.position for hit in answer.hits]:
            return []
        return [
            f"Search does not find message {position} of session {session} by its word {word!r}: "
            "build the index anew with: hermes sessions reindex"
        ]
    return []
