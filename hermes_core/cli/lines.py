"""Reads lines from the terminal without blocking the loop, in a daemon thread of its own."""

from __future__ import annotations

import sys

from hermes_core.threads import Threads


class Lines:
    """Standard input, a line at a time."""

    def __init__(self) -> None:
        self._threads = Threads("hermes-input", limit=1)

    async def read(self, prompt: str) -> str | None:
        """The next line without its end; None at the end of the input."""
        return await self._threads.run(lambda: _read(prompt))


def _read(prompt: str) -> str | None:
    """``input`` writes its prompt to stdout; the prompt is not part of an answer."""
    sys.stderr.write(prompt)
    sys.stderr.flush()
    try:
        line = sys.stdin.readline()
    except (OSError, ValueError):
        return None
    return line.rstrip("\r\n") if line else None
