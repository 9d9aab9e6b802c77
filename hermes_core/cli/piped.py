"""What is piped into ``hermes``: read whole, and never waited for without an end."""

from __future__ import annotations

import os
import stat
import sys
import threading

from hermes_core.cli.console import is_terminal, print_error

FIRST_SECONDS = 3.0
"""How long a pipe beside a question may stay silent: whoever started us may have left one open."""
MOST_BYTES = 8_000_000
"""More is not read: a question takes 400,000 characters."""


def piped_text(*, beside_query: bool) -> str:
    """The text on standard input, "" where there is none.

    Alone it is waited for. Beside a question it has `FIRST_SECONDS` to begin.
    """
    if is_terminal(sys.stdin):
        return ""
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError):
        return ""
    if beside_query and not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return ""
    pipe = _Pipe(descriptor)
    if not pipe.begin(FIRST_SECONDS if beside_query else None):
        print_error(
            f"nothing came on stdin within {FIRST_SECONDS:g} s; going on without it.",
            hint="`… < /dev/null` says at once that nothing will.",
        )
        return ""
    data = pipe.rest()
    if len(data) >= MOST_BYTES:
        print_error(f"only the first {MOST_BYTES // 1_000_000} MB of stdin were read.")
    return data.decode("utf-8", "replace")


class _Pipe:
    """A descriptor that a daemon thread reads: a silent one never holds up the exit."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._data = bytearray()
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._read, name="hermes-stdin", daemon=True)

    def begin(self, seconds: float | None) -> bool:
        """Start; False when neither data nor the end came in time."""
        self._thread.start()
        return self._begun.wait(seconds)

    def rest(self) -> bytes:
        """Everything, once it is there."""
        self._thread.join()
        return bytes(self._data[:MOST_BYTES])

    def _read(self) -> None:
        try:
            while len(self._data) < MOST_BYTES and (piece := self._piece()):
                self._data += piece
                self._begun.set()
        except OSError:
            pass  # a directory, or a terminal that is gone: there is nothing to read
        finally:
            self._begun.set()

    def _piece(self) -> bytes:
        while True:
            try:
                return os.read(self._descriptor, 65536)
            except BlockingIOError:  # the other end made it so
                import select

                select.select([self._descriptor], [], [])
