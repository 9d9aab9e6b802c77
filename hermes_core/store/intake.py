"""Reading what `transfer` wrote, from this home or another. Imported on use.

A file is read whole and checked before anything is written, and all of it is written in one
transaction: it is there afterwards, or nothing is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final, NoReturn, TypeAlias

import msgspec

from hermes_core.store import sessions
from hermes_core.store.database import Connection
from hermes_core.store.transfer import LATEST, Header
from hermes_core.store.upkeep import ID
from hermes_plugins._dialects import ToolSpec
from hermes_plugins._errors import UsageError
from hermes_plugins._messages import Usage, decode_message, encode_message
from hermes_plugins._store import SessionInfo

MAX_BYTES: Final = 512_000_000
"""Of one file: it is held in memory, and other processes wait while it is written."""

_TAKEN = "SELECT 1 FROM sessions WHERE id = ?"
_TITLED = "SELECT 1 FROM sessions WHERE title = ?"
_MORE = "UPDATE sessions SET message_count = ?, model_calls = ?, named = ? WHERE key = ?"
_INDEX_LATER = "INSERT INTO unindexed (id) SELECT id FROM messages WHERE session = ?"

_Row: TypeAlias = tuple[int, float, str, bytes]
"""Position, time, role and stored form of a message."""


class Parsed(msgspec.Struct, frozen=True):
    """A session of a file."""

    header: Header
    rows: list[_Row]


class Brought(msgspec.Struct, frozen=True, kw_only=True):
    """A session that was imported; ``was`` is what the file calls it."""

    session: SessionInfo
    was: str
    was_titled: str


class _Line(msgspec.Struct, frozen=True):
    position: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    time: Annotated[float, msgspec.Meta(ge=0, le=LATEST)]
    message: msgspec.Raw


def parse(data: bytes, name: str) -> list[Parsed]:
    """The sessions of a file; ``name`` is what its user calls it.

    Raises:
        UsageError: something in it is not what `transfer.written` writes; says in which line.
    """
    found: list[Parsed] = []
    started = 0
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            if b'"session"' in line and "session" in msgspec.json.decode(
                line, type=dict[str, msgspec.Raw]
            ):
                _check_whole(found, name, started)
                found.append(Parsed(_header(line), []))
                started = number
                continue
            row = _row(line, found[-1].rows if found else [])
            if not found:
                raise ValueError("a message before any session")
            found[-1].rows.append(row)
        except (msgspec.MsgspecError, ValueError, TypeError) as error:
            _refuse(f"{name}, line {number}: {error}", error)
    if not found:
        _refuse(f"{name} holds no session", None)
    _check_whole(found, name, started)
    return found


def _refuse(problem: str, error: Exception | None) -> NoReturn:
    raise UsageError(
        f"{problem.rstrip('.')}.",
        hint="Nothing was imported. `hermes sessions export` writes what can be.",
    ) from error


def _check_whole(found: list[Parsed], name: str, line: int) -> None:
    """A file that was cut between two lines is not one that its user wants."""
    if not found:
        return
    told = found[-1].header.session.message_count
    last = found[-1].rows[-1][0] if found[-1].rows else 0
    if told and told != last:
        _refuse(f"{name}, line {line}: this session has {told} messages, but ends at {last}", None)


def _header(line: bytes) -> Header:
    header = msgspec.json.decode(line, type=Header)
    info = header.session
    if not ID.fullmatch(info.id):
        raise ValueError(f"{info.id!r} is no session id (letters, digits, - and _)")
    if not (0 <= info.created <= LATEST and 0 <= info.updated <= LATEST):
        raise ValueError("the time of the session is no time")
    for used in header.usage.values():
        if not all(0 <= one <= 2**53 for one in _counts(used)):
            raise ValueError("the usage is no number of tokens")
    msgspec.json.decode(header.tools, type=list[ToolSpec])
    return header


def _counts(used: Usage) -> tuple[float, ...]:
    return used.input, used.output, used.cached, used.reasoning, used.cost or 0.0


def _row(line: bytes, before: list[_Row]) -> _Row:
    read = msgspec.json.decode(line, type=_Line)
    if before and read.position <= before[-1][0]:
        raise ValueError(f"message {read.position} comes after message {before[-1][0]}")
    message = decode_message(bytes(read.message))
    return read.position, read.time, message.role, encode_message(message)


def bring_in(
    connection: Connection, parsed: list[Parsed], new_id: Callable[[], str]
) -> list[Brought]:
    """Write sessions; one whose id is here already gets a new one, and a title of its own.

    They are found by search when the index has caught up (`index.catch_up`).
    """
    names: dict[str, str] = {}
    ids: list[str] = []
    for one in parsed:
        known = one.header.session.id
        taken = known in ids or connection.execute(_TAKEN, (known,)).fetchone()
        ids.append(new_id() if taken else known)
        names.setdefault(known, ids[-1])
    return [
        _bring(connection, one, session_id, names)
        for one, session_id in zip(parsed, ids, strict=True)
    ]


def _bring(
    connection: Connection, parsed: Parsed, session_id: str, names: dict[str, str]
) -> Brought:
    header, known = parsed.header, parsed.header.session
    info = msgspec.structs.replace(
        known,
        id=session_id,
        title=_free_title(connection, known.title),
        parent=names.get(known.parent, known.parent),
    )
    key = sessions.create(connection, info, header.system, bytes(header.tools))
    connection.executemany(sessions.INSERT, [(key, *row) for row in parsed.rows])
    connection.execute(_INDEX_LATER, (key,))
    count = parsed.rows[-1][0] if parsed.rows else 0
    connection.execute(_MORE, (count, header.model_calls, header.named, key))
    sessions.spend(connection, key, header.usage)
    info = msgspec.structs.replace(info, message_count=count)
    return Brought(session=info, was=known.id, was_titled=known.title)


def _free_title(connection: Connection, title: str) -> str:
    """The title, or one like it by which the session can be told from the one that has it."""
    free, number = title, 1
    while free and connection.execute(_TITLED, (free,)).fetchone():
        free = f"{title} (imported{'' if number == 1 else f' {number}'})"
        number += 1
    return free
