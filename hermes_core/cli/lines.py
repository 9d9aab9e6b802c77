"""Reads lines from the terminal without blocking the loop, in a daemon thread of its own."""

from __future__ import annotations

import asyncio
import sys
from typing import TextIO

from hermes_core.cli.console import tell
from hermes_core.threads import Threads


class Lines:
    """Standard input, a line at a time.

    A read that is given up (an approval that timed out, Ctrl-C at the prompt) leaves a thread waiting
    for the next line; the next read takes that over, so that no line is lost.
    """

    def __init__(self) -> None:
        self._threads = Threads("hermes-input", limit=1)
        self._waiting: asyncio.Task[str | None] | None = None
        self._stream: TextIO | None = None

    async def read(self, prompt: str, *, fresh: bool = False) -> str | None:
        """The next line without its end; None at the end of the input.

        ``fresh`` drops what was typed before the prompt was there: an answer to a question that
        nobody had seen yet is none.
        """
        if fresh:
            self._forget_typed()
        tell(prompt)
        if self._waiting is None:
            self._waiting = asyncio.get_running_loop().create_task(self._threads.run(self._line))
        line = await asyncio.shield(self._waiting)
        self._waiting = None
        return line

    def _line(self) -> str | None:
        """`input` would write its prompt to stdout, which is the answer's.

        The stream is our own: a thread that still waits in ``sys.stdin`` when the interpreter ends
        holds that one's lock, which is a fatal error.
        """
        try:
            if self._stream is None:
                self._stream = open(  # noqa: SIM115  # for as long as the program runs
                    sys.stdin.fileno(),
                    encoding=sys.stdin.encoding or "utf-8",
                    errors="replace",
                    closefd=False,
                )
            line = self._stream.readline()
        except (OSError, ValueError):
            return None
        return line.rstrip("\r\n") if line else None

    def _forget_typed(self) -> None:
        if (
            self._waiting is not None
            and self._waiting.done()
            and self._waiting.result() is not None
        ):
            self._waiting = None
        try:
            import termios
        except ImportError:  # Windows
            return
        try:
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        except (termios.error, OSError, ValueError):
            return
