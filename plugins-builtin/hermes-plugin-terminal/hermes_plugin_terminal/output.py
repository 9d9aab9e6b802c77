"""What a command prints, kept within bounds however much it is.

Fed with bytes by the thread that reads the command, asked for text by the loop; UTF-8 whatever the
locale, and what is not UTF-8 becomes U+FFFD.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import threading
from collections import deque
from pathlib import Path
from typing import IO

import msgspec

SPILL_BYTES = 50_000_000
KEPT_FILES = 32
ROLLING_CHARS = 200_000

_HEAD_SHARE = 0.4
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class Captured(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a whole command, cut in the middle if it was long."""

    text: str
    omitted: int = 0
    spilled_to: str = ""


class Capture:
    """Head and tail of one command's output; the whole goes to a file once it is over ``limit``.

    Memory stays below about twice ``limit`` characters, the file below `SPILL_BYTES`.
    """

    def __init__(self, limit: int, folder: Path) -> None:
        self._limit = limit
        self._folder = folder
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._lock = threading.Lock()
        self._closed = False
        self._head: list[str] = []
        self._head_room = int(limit * _HEAD_SHARE)
        self._tail: list[str] = []
        self._tail_length = 0
        self._total = 0
        self._spill: IO[bytes] | None = None
        self._spill_name: str | None = None
        self._spill_room = SPILL_BYTES

    def feed(self, data: bytes) -> None:
        """Take what was read; ignored after `finish`."""
        with self._lock:
            if not self._closed:
                self._add(self._decoder.decode(data))

    def finish(self) -> Captured:
        """Close the file, and return what is kept."""
        with self._lock:
            self._add(self._decoder.decode(b"", True))
            self._closed = True
            if self._spill is not None:
                self._spill.close()
            head, tail = "".join(self._head), "".join(self._tail)
            if self._total <= self._limit:
                return Captured(text=head + tail)
            return self._shortened(head, tail)

    def _add(self, text: str) -> None:
        self._total += len(text)
        if self._total > self._limit:
            self._keep(text)
        if self._head_room:
            self._head.append(text[: self._head_room])
            text = text[self._head_room :]
            self._head_room -= len(self._head[-1])
        if not text:
            return
        self._tail.append(text)
        self._tail_length += len(text)
        if self._tail_length > 1.2 * self._limit:
            joined = "".join(self._tail)
            self._tail = [joined[-self._limit :]]
            self._tail_length = len(self._tail[0])

    def _keep(self, text: str) -> None:
        """Write to the file; the first time, also what came before."""
        if self._spill_name is None:
            self._spill_name = ""  # tried; a second failure would say nothing new
            with contextlib.suppress(OSError):
                self._spill_name, self._spill = _new_file(self._folder)
            text = "".join(self._head) + "".join(self._tail) + text
        if self._spill is None or not self._spill_room:
            return
        data = text.encode("utf-8", "replace")[: self._spill_room]
        try:
            self._spill.write(data)
        except OSError:  # the disk is full: what is there is kept, and the command goes on
            self._spill_room = 0
        else:
            self._spill_room -= len(data)

    def _shortened(self, head: str, tail: str) -> Captured:
        where = self._spill_name or ""
        # The number in the note and the room for it depend on each other; the total is long enough.
        room = max(self._limit - len(self._note(self._total, where)), 0)
        first = int(room * _HEAD_SHARE)
        head, tail = head[:first], tail[len(tail) - min(room - first, len(tail)) :]
        omitted = self._total - len(head) - len(tail)
        return Captured(
            text=head + self._note(omitted, where) + tail, omitted=omitted, spilled_to=where
        )

    def _note(self, omitted: int, where: str) -> str:
        if not where:
            kept = "not kept"
        elif self._spill_room:
            kept = f"all of it is in {where}"
        else:
            kept = f"the first {SPILL_BYTES // 1_000_000} MB are in {where}"
        return f"\n[... {omitted:,} characters left out; {kept} ...]\n"


class Rolling:
    """The last `ROLLING_CHARS` characters, addressed by their place in the whole output."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._lock = threading.Lock()
        self._pieces: deque[str] = deque()
        self._start = 0
        self._end = 0

    def feed(self, data: bytes) -> None:
        """Take what was read."""
        with self._lock:
            text = self._decoder.decode(data)
            self._end += len(text)
            if self._pieces and len(self._pieces[-1]) < 4096:
                text = self._pieces.pop() + text
            self._pieces.append(text)
            while self._end - self._start - len(self._pieces[0]) >= ROLLING_CHARS:
                self._start += len(self._pieces.popleft())

    def read(self, since: int) -> tuple[str, int]:
        """The text from ``since`` on, as far as it is kept, and where the next read starts."""
        with self._lock:
            oldest = max(self._start, self._end - ROLLING_CHARS, since)
            return "".join(self._pieces)[oldest - self._start :], self._end


def _new_file(folder: Path) -> tuple[str, IO[bytes]]:
    """A new file in ``folder``, readable by its owner only; the oldest make room."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = sorted(folder.glob("*.txt"), key=_age)
    for old in kept[: max(len(kept) - KEPT_FILES + 1, 0)]:
        with contextlib.suppress(OSError):
            old.unlink()
    name = str(folder / f"{os.getpid()}-{os.urandom(6).hex()}.txt")
    return name, open(os.open(name, _CREATE, 0o600), "wb")  # closed by `Capture.finish`


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
