"""Ctrl-C, and the ways in which a program is told to end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Final

_NAMES: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
_CTRL_C: Final = "you pressed Ctrl-C"


class Signals:
    """The first signal interrupts what runs; one more, or one with nothing to interrupt, ends it.

    ``interrupt`` is what the first one calls, with the reason. A signal that whoever started us had
    set to be ignored (``nohup``, a background job) stays ignored.
    """

    def __init__(self) -> None:
        self.interrupt: Callable[[str], None] | None = None
        self._number = 0
        self._main: asyncio.Task[int] | None = None

    @property
    def told_to_end(self) -> bool:
        """True after a signal that means the program, not only what it does now."""
        return self._number not in (0, signal.SIGINT)

    @property
    def status(self) -> int:
        """The exit status that tells the signal (POSIX shells: 128 and its number)."""
        return 128 + (self._number or signal.SIGINT)

    def catch(self) -> None:
        """Listen from now on; the running task is the one that a signal ends."""
        self._main = asyncio.current_task()
        loop = asyncio.get_running_loop()
        for name in _NAMES:
            number = getattr(signal, name, None)
            if number is None or signal.getsignal(number) is signal.SIG_IGN:
                continue
            try:
                loop.add_signal_handler(number, self._arrived, number)
            except NotImplementedError:  # Windows
                signal.signal(
                    number, lambda got, _: loop.call_soon_threadsafe(self._arrived, got) and None
                )

    def _arrived(self, number: int) -> None:
        self._number = number
        if self.interrupt is not None:
            interrupt, self.interrupt = self.interrupt, None
            interrupt(_CTRL_C if number == signal.SIGINT else "the program was told to end")
        elif self._main is not None:
            self._main.cancel()
