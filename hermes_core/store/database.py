"""Opening state.db: settings, schema versions, and errors in words a user can act on.

Nothing but SQLite ever opens the file itself: closing another handle on it drops the locks that
SQLite holds (POSIX locks belong to the process, not to the handle).
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from hermes_core.store import index
from hermes_plugins._errors import HermesError, StoreError

T = TypeVar("T")

MIGRATIONS = ("schema.sql", "mailbox.sql", "names.sql")
"""File n makes version n out of version n - 1. Append; never edit one that was released."""

SAFE_SQLITE = (3, 51, 3)
"""First SQLite without the race between checkpoint and log reset (sqlite.org/wal.html)."""

WAL_KEPT = 4 * 1024 * 1024
"""Bytes the log file is cut back to when it starts again."""

_BUSY_SECONDS = 0.25
_BUSY_ATTEMPTS = 180
"""With the 20 to 150 ms between them about a minute."""

_BUSY, _LOCKED, _READONLY, _IOERR, _CORRUPT, _FULL, _CANTOPEN, _PROTOCOL, _NOTADB = (
    *(5, 6, 8, 10, 11, 13, 14, 15, 26),
)
"""Primary result codes of SQLite (sqlite.org/rescode.html)."""

CORRUPT = (_CORRUPT, _NOTADB)
"""Codes that say that the file's pages are damaged."""

_SETTINGS = f"""
PRAGMA synchronous = NORMAL;
PRAGMA wal_autocheckpoint = 0;
PRAGMA journal_size_limit = {WAL_KEPT};
PRAGMA cache_size = -8000;
"""

NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "fuse.sshfs"}
)


class Connection(sqlite3.Connection):
    """A connection that knows whether the search index can be used."""

    indexed = False


def connect(path: Path, *, full_text: bool = True) -> Connection:
    """Open the file, make it and its folder where they are missing, bring it up to date.

    ``full_text`` False does without FTS5, as an SQLite that was built without it would.

    Raises:
        StoreError: it cannot be opened, is damaged, or a newer version made it.
    """
    connection: Connection | None = None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        connection = sqlite3.connect(
            path,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=200,
            factory=Connection,
        )
        _prepare(connection, path)
        connection.indexed = full_text and _ensure_index(connection)
    except (sqlite3.Error, OSError, UnicodeDecodeError, HermesError) as error:
        if connection is not None:
            connection.close()
        raise explain(error, path) from error
    return connection


def copy_database(path: Path, target: Path) -> None:
    """Write what is committed in ``path`` to the new file ``target``, while others go on writing.

    Raises:
        StoreError: there is nothing to copy, or one of them cannot be read or written.
    """
    if not path.is_file():
        raise StoreError(f"there is no {path}.", hint="Nothing was kept in this home yet.")
    connection = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        patiently(lambda: connection.execute("VACUUM INTO ?", (str(target),)))
    except (sqlite3.Error, OSError) as error:
        raise explain(error, path) from error
    finally:
        if connection is not None:
            connection.close()


def _prepare(connection: Connection, path: Path) -> None:
    for setting in _SETTINGS.strip().splitlines():
        connection.execute(setting)
    if patiently(lambda: _pragma(connection, "journal_mode")) != "wal":
        # A file system without shared memory answers with another mode, which works, but slower.
        patiently(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone())
    version = _pragma(connection, "user_version")
    if version != len(MIGRATIONS):
        _transact(connection, lambda: _migrate(connection, path))


def _pragma(connection: Connection, name: str) -> object:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def _migrate(connection: Connection, path: Path) -> None:
    version = int(str(_pragma(connection, "user_version")))
    if version > len(MIGRATIONS):
        raise StoreError(
            f"{path} was written by a newer Hermes (schema {version}; "
            f"this one knows {len(MIGRATIONS)}).",
            hint="Upgrade: pip install --upgrade hermes-host",
        )
    for name in MIGRATIONS[version:]:
        script = Path(__file__).with_name(name).read_text(encoding="utf-8")
        for statement in script.split(";\n"):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _ensure_index(connection: Connection) -> bool:
    """Make the search index where it is missing, and add what was left out; False without FTS5."""
    try:
        if not index.has_index(connection):
            _transact(connection, lambda: index.make_index(connection))
    except sqlite3.OperationalError as error:
        if "no such module" not in str(error):
            raise
        return False
    while index.is_behind(connection):
        _transact(connection, lambda: index.catch_up(connection))
    return True


def _transact(connection: Connection, work: Callable[[], object]) -> None:
    patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
    try:
        work()
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def patiently(action: Callable[[], T]) -> T:
    """Run ``action`` again, after jittered pauses, while another process keeps the file busy."""
    for _ in range(_BUSY_ATTEMPTS):
        try:
            return action()
        except sqlite3.OperationalError as error:
            if code(error) not in (_BUSY, _LOCKED, _PROTOCOL):
                raise
        threading.Event().wait(0.02 + 0.13 * os.urandom(1)[0] / 255)
    return action()


def code(error: BaseException) -> int:
    """SQLite's primary result code; 0 where there is none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def explain(error: BaseException, path: Path) -> HermesError:
    """The error as one line that says what happened and what to do next."""
    if isinstance(error, HermesError):
        return error
    kind = code(error)
    if kind in (_FULL, _IOERR):
        return StoreError(
            f"{path} could not be written: {error}. What was stored before is safe.",
            hint="Free some disk space, then go on with: hermes chat --continue",
        )
    if isinstance(error, OSError) or kind in (_CANTOPEN, _READONLY):
        reason = getattr(error, "strerror", None) or str(error)
        return StoreError(
            f"{path} cannot be opened or written: {reason}.",
            hint="Check the folder's owner and mode, or set HERMES_HOME to one you can write.",
        )
    if kind in CORRUPT or isinstance(error, UnicodeDecodeError):
        return StoreError(
            f"{path} is damaged: {error}.",
            hint="`hermes sessions repair` saves what can be read, or put a backup there.",
        )
    if kind in (_BUSY, _LOCKED, _PROTOCOL):
        return StoreError(
            f"another process has kept {path} busy for a minute.",
            hint="See what has it open, end that, and try again.",
        )
    return StoreError(
        f"{path}: {error}",
        hint="`hermes sessions repair` looks what is wrong, and saves what can be read.",
    )


def check(connection: Connection, path: Path) -> list[str]:
    """What doctor should say about the file and the SQLite in use; one sentence each."""
    found = []
    if sqlite3.sqlite_version_info < SAFE_SQLITE:
        found.append(
            f"SQLite {sqlite3.sqlite_version} has a checkpoint race (mended in "
            f"{'.'.join(map(str, SAFE_SQLITE))}); Hermes avoids it, other programs that write "
            f"{path.name} may not."
        )
    mounts = Path("/proc/self/mounts")
    if mounts.exists():
        kind = file_system(path, mounts.read_text(encoding="utf-8", errors="replace"))
        if kind in NETWORK_FILE_SYSTEMS:
            found.append(
                f"{path} is on a network file system ({kind}), where SQLite's locks are not "
                "reliable: set HERMES_HOME to a local folder."
            )
    elif str(path).startswith("\\\\"):
        found.append(f"{path} is on a network share: set HERMES_HOME to a local folder.")
    damage = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if damage != "ok":
        found.append(
            f"{path} is damaged: {damage}. Save what can be read with: hermes sessions repair"
        )
    return found


def file_system(path: Path, mounts: str) -> str:
    """The type of the file system that holds ``path``, by a table in the format of /proc/mounts."""
    place = str(path.resolve())
    best, kind = "", ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        mount = fields[1].replace("\\040", " ")
        if len(mount) >= len(best) and (place + "/").startswith(mount.rstrip("/") + "/"):
            best, kind = mount, fields[2]
    return kind
