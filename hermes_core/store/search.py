"""Searching: the index names candidates, the texts decide.

The index names them newest first, in half a millisecond however common the word; the texts of the
newest `WINDOW` are then read, phrases and punctuation are checked in them, and they are ranked.
FTS5's own bm25 walks through every match, which takes too long for common words. Imported on use.
"""

from __future__ import annotations

import heapq
import math
import re
import sqlite3
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from hermes_core.store.index import text_of
from hermes_core.store.query import Query, Term, expression, fold, parse, relax
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
            "build the index anew with: hermes sessions repair"
        ]
    return []
