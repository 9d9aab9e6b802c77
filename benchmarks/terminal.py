"""A terminal for what is measured: a person who waits for a text, types, and looks at the clock.

POSIX only. The CPU of the child is what ``wait4`` says when it has ended, or was killed.
"""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import subprocess
import termios
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.measure import Command, NotRun

COLUMNS, ROWS = 100, 40


class Terminal:
    """A child in a terminal of its own. A context manager; leaving kills what still runs."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._shown = ""
        self._changed = threading.Condition()
        self._cpu: float | None = None

    def __enter__(self) -> Self:
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._child = subprocess.Popen(
            self._command.argv,
            env=dict(self._command.env),
            cwd=self._command.cwd,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._cpu is None:
            self.kill()
        os.close(self._ours)

    def type(self, text: str) -> None:
        """Keys."""
        os.write(self._ours, text.encode())

    def wait_for(self, text: str, *, seconds: float = 120.0) -> float:
        """Until the text has been written to the terminal; returns when that was seen.

        Raises:
            NotRun: it was not.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: text in self._shown, timeout=seconds):
                raise NotRun(f"{text!r} did not appear in {seconds:g} s: …{self._shown[-200:]!r}")
        return time.perf_counter()

    def queued(self) -> float:
        """Seconds that the child has waited for a processor so far; 0 where nobody tells."""
        try:
            told = Path(f"/proc/{self._child.pid}/schedstat").read_text(encoding="ascii")
        except OSError:
            return 0.0
        return int(told.split()[1]) / 1e9

    def kill(self) -> float:
        """End it where it stands; the seconds of CPU that it took so far."""
        self._child.kill()
        return self.end()

    def end(self) -> float:
        """Wait for its end; the seconds of CPU that it took."""
        _, status, usage = os.wait4(self._child.pid, 0)
        self._child.returncode = os.waitstatus_to_exitcode(status)
        self._cpu = usage.ru_utime + usage.ru_stime
        if self._child.returncode not in (0, -signal.SIGKILL):
            raise NotRun(f"exit status {self._child.returncode}: …{self._shown[-200:]!r}")
        return self._cpu

    def _read(self) -> None:
        try:
            while piece := os.read(self._ours, 65536):
                with self._changed:
                    # The end is enough, and keeps looking for a text cheap.
                    self._shown = (self._shown + piece.decode("utf-8", "replace"))[-200_000:]
                    self._changed.notify_all()
        except OSError:
            return  # Linux says EIO when the last writer has closed the terminal
