"""The log file of the home: everything that is too long for the screen, with secrets masked.

Opened at the first record. Nothing of it goes to the terminal.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from hermes_core.gate.redact import RedactingFormatter, Redactor

LOGGED = ("hermes", "asyncio")
"""The loggers that end up in the file, and never on the screen."""
FORMAT = "%(asctime)s %(levelname)s %(name)s %(process)d %(message)s"


class LogFile(logging.Handler):
    """Appends to a file; moves it aside when it has grown too large. Never raises into the program."""

    def __init__(self, path: Path, redactor: Redactor, *, max_bytes: int, keep: int) -> None:
        super().__init__()
        self._path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self.setFormatter(RedactingFormatter(FORMAT, redactor=redactor))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._rotate()
            line = self.format(record) + "\n"
            with self._path.open("a", encoding="utf-8", errors="replace") as stream:
                stream.write(line)
        except OSError:
            pass  # a full disk must not keep the agent from answering

    def _rotate(self) -> None:
        if not self._path.exists() or self._path.stat().st_size < self._max_bytes:
            return
        for number in range(self._keep - 1, 0, -1):
            older = self._path.with_name(f"{self._path.name}.{number}")
            if older.exists():
                os.replace(older, self._path.with_name(f"{self._path.name}.{number + 1}"))
        os.replace(self._path, self._path.with_name(f"{self._path.name}.1"))


def start_log(path: Path, redactor: Redactor, *, level: str, max_bytes: int, keep: int) -> LogFile:
    """Send the records of ``hermes.*``, and what asyncio complains about, to the file alone."""
    handler = LogFile(path, redactor, max_bytes=max_bytes, keep=keep)
    for name in LOGGED:
        logging.getLogger(name).addHandler(handler)
        logging.getLogger(name).propagate = False
    logging.getLogger("hermes").setLevel(level.upper())
    return handler


def stop_log(handler: LogFile) -> None:
    """Take the file away again: another host in this process has its own."""
    for name in LOGGED:
        logging.getLogger(name).removeHandler(handler)
