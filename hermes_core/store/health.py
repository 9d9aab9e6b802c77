"""What `hermes doctor` says of the store: one finding each, and how to mend it. Imported on use.

Works on a connection of its own, in the thread of whoever calls: the file may be damaged.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from hermes_core.store import database, index, search
from hermes_plugins._doctor import Finding, Level
from hermes_plugins._errors import HermesError

T = TypeVar("T")

LEFT_SECONDS: Final = 3600.0
"""From which a lease that ran out counts as left behind; its holder may only have slept before."""

_LEVELS: Final[dict[str, Level]] = {"is damaged": "fail", "network": "warn"}
_LEFT: Final = "holder <> '' AND abs(lease_until - ?) > ?"
_FORGET: Final = (
    f"UPDATE sessions SET fence = fence + 1, holder = '', lease_until = 0 WHERE {_LEFT}"
)


def look(path: Path, now: float) -> list[Finding]:
    """Everything there is to say, the worst not first; changes nothing but an old schema."""
    if not path.is_file():
        return [Finding(level="ok", text="Nothing is kept yet.")]
    try:
        with closing(database.connect(path)) as connection:
            return _findings(connection, path, now)
    except HermesError as error:
        return [Finding(level="fail", text=error.message, hint=error.hint)]
    except sqlite3.Error as error:
        told = database.explain(error, path)
        return [Finding(level="fail", text=told.message, hint=told.hint)]


def _findings(connection: database.Connection, path: Path, now: float) -> list[Finding]:
    found = [
        Finding(level=next((_LEVELS[sign] for sign in _LEVELS if sign in line), "info"), text=line)
        for line in database.check(connection, path)
        if "checkpoint race"
        not in line  # said of the installation, whether anything is kept or not
    ]
    for line in search.check(connection):
        is_slow_only = not connection.indexed
        fix = None if is_slow_only else partial(_in_thread, _mend_search, path)
        found.append(Finding(level="info" if is_slow_only else "warn", text=line, fix=fix))
    (left,) = connection.execute(
        f"SELECT count(*) FROM sessions WHERE {_LEFT}", (now, LEFT_SECONDS)
    ).fetchone()
    if left:
        text = f"{_sessions(left)} marked as being written, by a process that is gone."
        hint = "It does no harm; `hermes doctor --fix` takes the mark away."
        release = partial(_in_thread, _release, path, now)
        found.append(Finding(level="info", text=text, hint=hint, fix=release))
    if not any(one.level in ("warn", "fail") for one in found):
        (count,) = connection.execute("SELECT count(*) FROM sessions").fetchone()
        size = path.stat().st_size / 1_000_000
        found.insert(0, Finding(level="ok", text=f"Sound; {_sessions(count)}, {size:,.1f} MB."))
    return found


async def _in_thread(work: Callable[..., str], *values: object) -> str:
    return await asyncio.to_thread(work, *values)


def _mend_search(path: Path) -> str:
    with closing(database.connect(path)) as connection:
        _transact(connection, index.drop_index)
        while _transact(connection, index.catch_up):
            pass
    return "The search index is built anew."


def _release(path: Path, now: float) -> str:
    with closing(database.connect(path)) as connection:
        values = (now, LEFT_SECONDS)
        count = _transact(connection, lambda one: one.execute(_FORGET, values).rowcount)
    return f"The mark of {_sessions(count)} is taken away."


def _sessions(count: int) -> str:
    return "1 session" if count == 1 else f"{count:,} sessions"


def _transact(connection: database.Connection, work: Callable[[database.Connection], T]) -> T:
    """Run it in a transaction.

    Raises:
        StoreError: it cannot be written.
    """
    place = Path(connection.execute("PRAGMA database_list").fetchone()[2])
    try:
        database.patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
        answer = work(connection)
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise database.explain(error, place) from error
    return answer
