"""The driver: makes the terminal sane, opens the history, and talks."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hermes_plugins import FaceHost, SessionWish

from .cleaning import RESET, reset_terminal

if TYPE_CHECKING:
    from prompt_toolkit.history import History

GONE: Final = 129
"""The exit status when the terminal was closed: 128 and the number of SIGHUP."""


class Repl:
    """Implements the kit's `Shell`."""

    def __init__(self, face: FaceHost) -> None:
        from . import (
            conversation,
        )  # a library that is missing is found out before anything is drawn

        self._face = face
        self._talk = conversation.Conversation

    async def run(self, wish: SessionWish) -> int:
        reset_terminal()
        history = _history(self._face.host.paths.home)
        conversation = self._talk(self._face, wish, history=history)
        try:
            status = await conversation.run()
        except OSError:
            if _is_terminal_there():
                raise
            return GONE
        finally:
            with suppress(OSError, ValueError):  # the terminal may be gone
                sys.stdout.write(RESET)
                sys.stdout.flush()
        sys.stdout.write(conversation.goodbye())
        sys.stdout.flush()
        return status


def _is_terminal_there() -> bool:
    try:
        os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):
        return False
    return True


def _history(home: Path) -> History:
    """What was typed in earlier sessions, for this person only (0600); in memory where it cannot be."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    path = home / "repl_history"
    try:
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))
