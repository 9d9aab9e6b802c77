"""The two files on disk: read, lock, replace whole.

A lock of the operating system on ``.lock`` beside them keeps writers apart, threads and processes
alike; it goes away with its process, so none is ever stale. Readers need no lock, because a file is
only ever replaced whole.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hermes_plugins import ToolError

DELIMITER = "§"
"""Alone on a line, between two entries."""

_PAUSE = 0.02
_ATTEMPTS = 250
"""5 seconds in all; a writer holds the lock for a few milliseconds."""

Pause = Callable[[float], None]


def read(path: Path) -> list[str]:
    """The entries of a file, stripped, empty ones left out; a missing file has none.

    Hand-made files are fine: a byte-order mark, any line ends, spaces around the delimiter.

    Raises:
        UnicodeDecodeError: it is not UTF-8.
        OSError: it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return []
    entries: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.strip() == DELIMITER:
            entries.append([])
        else:
            entries[-1].append(line)
    return [entry for lines in entries if (entry := "\n".join(lines).strip())]


def joined(entries: list[str]) -> str:
    """The entries as they stand in the file; its length is what a limit counts."""
    return f"\n{DELIMITER}\n".join(entries)


def replace(path: Path, entries: list[str], *, pause: Pause) -> None:
    """Replace the file whole, or not at all; a link is written through.

    Raises:
        OSError: it cannot be written.
    """
    real = Path(os.path.realpath(path))
    text = joined(entries)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=real.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(f"{text}\n".encode() if text else b"")
            file.flush()
            os.fsync(file.fileno())
        _put(temporary, real, pause)
    except BaseException:
        os.unlink(temporary)
        raise


def _put(temporary: str, real: Path, pause: Pause) -> None:
    """On Windows a reader that has the file open stands in the way for a moment."""
    for left in reversed(range(20)):
        try:
            os.replace(temporary, real)
            return
        except PermissionError:
            if not left or os.name != "nt":
                raise
            pause(_PAUSE)


@contextmanager
def locked(folder: Path, *, pause: Pause) -> Iterator[None]:
    """Hold the folder's lock; makes the folder. ``pause`` waits for that many seconds.

    Raises:
        ToolError: another writer held it for 5 seconds.
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        for _ in range(_ATTEMPTS):
            if _try_lock(handle):
                break
            pause(_PAUSE)
        else:
            raise ToolError(
                "another process is writing the memory files.", kind="transient", hint="Try again."
            )
        try:
            yield
        finally:
            _unlock(handle)
    finally:
        os.close(handle)


if sys.platform == "win32":

    def _try_lock(handle: int) -> bool:
        import msvcrt

        os.lseek(handle, 0, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _unlock(handle: int) -> None:
        import msvcrt

        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:

    def _try_lock(handle: int) -> bool:
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(handle: int) -> None:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_UN)
