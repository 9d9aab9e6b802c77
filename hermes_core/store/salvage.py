"""Saving what can be read of a damaged state.db into a new one. Imported on use.

The damaged file and its log are copied aside first; the new file takes the old one's place only when
it is complete. Nobody else may have the file open meanwhile. Killed in the middle, the damaged file
is still there, and the next repair begins again.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from hermes_core.store import database
from hermes_core.store.database import Connection
from hermes_plugins._errors import StoreError

LOCK_PLACE: Final = 0x40000000
LOCK_BYTES: Final = 512
"""Where SQLite's own locks are (sqlite.org/fileformat2.html, the lock-byte page)."""

_BESIDE: Final = ("-wal", "-shm")
_DONE: Final = ".repaired"
"""End of the name of a new file that is complete and not yet in its place."""
_PIECE: Final = 1_000_000
_DAMAGE: Final = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What reading a damaged file raises; the second where SQLite's own message quotes the damage."""
_HEADER: Final = 100
"""Bytes of a file's header (sqlite.org/fileformat2.html)."""
_FAR: Final = 1_000_000
"""How far behind the last readable row others are looked for, where the end is damaged too."""
_TRIES: Final = 20_000
"""Queries for what lies between damaged pages, a second or two."""


def damage(path: Path) -> str:
    """What is wrong with the pages of the file, in SQLite's words; "" for nothing. Changes nothing."""
    if path.with_name(path.name + _DONE).exists():
        return "a repair was cut off before its end"
    try:
        with closing(_read_only(path)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            lines = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(100)")]
    except _DAMAGE as error:
        if isinstance(error, UnicodeDecodeError) or database.code(error) in database.CORRUPT:
            return str(error)
        raise database.explain(error, path) from error
    # What is said of the index is mended by building it anew.
    real = [line for line in lines if line != "ok" and "message_index" not in line]
    return real[0].replace("\n", " ") if real else ""


def _read_only(path: Path) -> sqlite3.Connection:
    """A connection that does not even copy the log back when it is closed."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    return sqlite3.connect(address, uri=True, isolation_level=None, timeout=10)


def save(path: Path, aside: Path) -> None:
    """Copy the file to ``aside``, and put a new one in its place with all rows that can be read.

    Raises:
        StoreError: another process has the file open, the disk is full, or nothing can be read.
    """
    need = 3 * _size(path) + 10_000_000
    if (free := shutil.disk_usage(path.parent).free) < need:
        raise StoreError(
            f"saving needs {need // 1_000_000} MB of disk, and {free // 1_000_000} MB are free.",
            hint="Free some disk space, then: hermes sessions repair",
        )
    new, work, done = (path.with_name(path.name + end) for end in (".new", ".work", _DONE))
    try:
        with _alone(path) as handle:
            _copy(path, aside, handle)
            if not done.exists():
                _remove(new)
                _rebuild(aside, new, work)
                os.replace(new, done)
            for end in _BESIDE:  # the old log must never be applied to the new file
                path.with_name(path.name + end).unlink(missing_ok=True)
            os.replace(done, path)
            if handle >= 0:
                # Whoever opened the old file meanwhile, and waits, must not write where it is lost.
                os.pwrite(handle, b"`hermes sessions repair` has replaced this file.", 0)
    except OSError as error:
        raise StoreError(
            f"{path} could not be saved: {error.strerror or error}.",
            hint="End what else uses it, or free disk space; then: hermes sessions repair",
        ) from error
    finally:
        _remove(new)
        _remove(work)
        _tidy(aside)


def _size(path: Path) -> int:
    log = path.with_name(f"{path.name}-wal")
    return path.stat().st_size + (log.stat().st_size if log.exists() else 0)


@contextmanager
def _alone(path: Path) -> Iterator[int]:
    """A handle of the file with which nobody else can use it meanwhile, where nobody does.

    Closing any other handle of the file in this process would let go of that: so does none.

    Raises:
        StoreError: somebody uses it.
    """
    if sys.platform == "win32":  # there a file that somebody has open cannot be replaced
        yield -1
        return
    import fcntl

    handle = os.open(path, os.O_RDWR)
    try:
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, LOCK_BYTES, LOCK_PLACE)
        except OSError as error:
            raise StoreError(
                f"{path} is damaged, and another process has it open.",
                hint="End every `hermes` that runs on this home, then: hermes sessions repair",
            ) from error
        yield handle
    finally:
        os.close(handle)


def _copy(path: Path, to: Path, handle: int = -1) -> None:
    """The file (through ``handle``, where there is one) and its log."""
    with to.open("wb") as out:
        to.chmod(0o600)
        if handle < 0:
            with path.open("rb") as source:
                shutil.copyfileobj(source, out)
        else:
            while piece := os.pread(handle, _PIECE, out.tell()):
                out.write(piece)
    if (log := path.with_name(f"{path.name}-wal")).exists():
        shutil.copyfile(log, to.with_name(f"{to.name}-wal"))
        to.with_name(f"{to.name}-wal").chmod(0o600)


def _tidy(aside: Path) -> None:
    """Remove what reading the copy left beside it, but not the log that was copied."""
    log = aside.with_name(f"{aside.name}-wal")
    aside.with_name(f"{aside.name}-shm").unlink(missing_ok=True)
    if log.exists() and not log.stat().st_size:
        log.unlink()


def _remove(path: Path) -> None:
    for end in ("", *_BESIDE):
        path.with_name(path.name + end).unlink(missing_ok=True)


def _rebuild(damaged: Path, new: Path, work: Path) -> None:
    fresh = database.connect(new)
    try:
        with closing(_opened(damaged, new, work)) as old:
            old.text_factory = bytes
            fresh.execute("PRAGMA synchronous = OFF")
            fresh.execute("BEGIN IMMEDIATE")
            saved = sum(_save_table(old, fresh, table) for table in _tables(fresh))
            fresh.execute("INSERT OR IGNORE INTO unindexed (id) SELECT id FROM messages")
            fresh.execute("COMMIT")
        if not saved:
            raise StoreError(
                f"nothing can be read of {damaged.name}, a copy of the damaged file.",
                hint="Put a backup in the place of state.db; `sqlite3 FILE .recover` may find more.",
            )
        fresh.execute("PRAGMA synchronous = FULL")
        fresh.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error as error:
        raise database.explain(error, new) from error
    finally:
        fresh.close()
    with closing(database.connect(new)):
        pass  # what waits for the index is added


def _opened(damaged: Path, new: Path, work: Path) -> sqlite3.Connection:
    """The copy, read only; where its header is damaged, another copy with that of a sound file."""
    old = _read_only(damaged)
    try:
        old.execute("PRAGMA writable_schema = ON")  # one broken table must not hide the others
        old.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except _DAMAGE:
        old.close()
        _copy(damaged, work)
        header = bytearray(new.read_bytes()[:_HEADER])
        header[28:40] = bytes(12)  # size and free pages: not those of the new file
        with work.open("r+b") as file:
            file.write(header)
        old = _read_only(work)
        old.execute("PRAGMA writable_schema = ON")
    return old


def _tables(fresh: Connection) -> list[str]:
    rows = fresh.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")
    names = [str(row[0]) for row in rows]
    return [one for one in names if not one.startswith(("sqlite_", "message_index", "unindexed"))]


def _save_table(old: sqlite3.Connection, fresh: Connection, table: str) -> int:
    """Copy the rows of a table that can be read and are no contradiction; how many."""
    columns = fresh.execute(f"PRAGMA table_info({table})").fetchall()
    try:
        there = {bytes(row[1]).decode() for row in old.execute(f"PRAGMA table_info({table})")}
    except _DAMAGE:
        there = set()
    kept = [(str(row[1]), str(row[2]), int(row[5])) for row in columns if str(row[1]) in there]
    if not kept:
        return 0
    names = [name for name, _, _ in kept]
    values = ["CAST(? AS TEXT)" if kind == "TEXT" else "?" for _, kind, _ in kept]
    insert = f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) VALUES ({', '.join(values)})"
    keys = [name for name, _, place in sorted(kept, key=lambda one: one[2]) if place]
    saved = 0
    for row in _rows(old, table, names, keys):
        try:
            saved += fresh.execute(insert, row).rowcount
        except (sqlite3.IntegrityError, OverflowError):
            continue
    if table == "sessions" and "named" not in names:  # as the migration does
        fresh.execute("UPDATE sessions SET named = title <> ''")
    return saved


def _rows(
    old: sqlite3.Connection, table: str, names: Sequence[str], keys: Sequence[str]
) -> Iterator[tuple[object, ...]]:
    """Rows up to the first damage, back from the end to the last, and what can be found between.

    One may come twice. The key of a table with numbered rows is its first column.
    """
    query = f"SELECT {', '.join(names)} FROM {table} NOT INDEXED"
    ends: list[int] = []
    for way in ("ASC", "DESC"):
        end = -1
        try:
            for row in old.execute(f"{query} ORDER BY {', '.join(f'{key} {way}' for key in keys)}"):
                yield row
                end = row[0] if isinstance(row[0], int) else -1
            return
        except _DAMAGE:
            ends.append(end)
    if len(keys) == 1:
        low, high = ends
        yield from _between(
            old, f"{query} WHERE {keys[0]}", low, high if high > low else low + _FAR
        )


def _between(
    old: sqlite3.Connection, query: str, low: int, high: int
) -> Iterator[tuple[object, ...]]:
    """Rows in a damaged range of numbers: it is halved, and its halves, until they are read or one row
    alone; the large ones first, because the number of tries is limited."""
    ranges = deque([(low + 1, high - 1)])
    for _ in range(_TRIES):
        if not ranges:
            return
        low, high = ranges.popleft()
        try:
            for row in old.execute(f"{query} BETWEEN ? AND ?", (low, high)):
                yield row
                low = int(row[0]) + 1
        except _DAMAGE:
            if low < high:
                middle = (low + high) // 2
                ranges += [(low, middle), (middle + 1, high)]
