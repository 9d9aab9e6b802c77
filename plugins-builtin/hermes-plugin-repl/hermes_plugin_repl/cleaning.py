"""What may be written to the terminal, and the terminal as a killed program may have left it."""

from __future__ import annotations

import re
import sys
import unicodedata
from contextlib import suppress
from typing import Final

_UNWANTED: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# ECMA-48: CSI, then the string sequences up to BEL or ST, then the rest.
_ESCAPE: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-Z\\^-~]"
)

# xterm's control sequences: attributes, charset, cursor keys, keypad, wrap, cursor, mouse (5 kinds),
# focus, paste brackets, held output, key protocols; the scroll region without moving the cursor.
RESET: Final = (
    "\x1b[0m\x0f\x1b(B\x1b[?1l\x1b>\x1b[?7h\x1b[?25h"
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1004l"
    "\x1b[?2004l\x1b[?2026l\x1b[<u\x1b[>4;0m\x1b7\x1b[r\x1b8"
)


def safe(text: str) -> str:
    """Without what could steer a terminal; tabs become spaces."""
    text = text.expandtabs(4)
    if not _UNWANTED.search(text):
        return text
    return _UNWANTED.sub("", _ESCAPE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


def one_line(text: str, width: int) -> str:
    """On one line of at most ``width`` columns, cut with an ellipsis."""
    flat = " ".join(safe(text).split())
    used = 0
    for position, char in enumerate(flat):
        used += 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if used > width - (position + 1 < len(flat)):
            return f"{flat[:position]}…" if width > 0 else ""
    return flat


def reset_terminal() -> None:
    """Switch off what a killed program may have left on."""
    with suppress(OSError, ValueError):
        sys.stdout.write(RESET)
        sys.stdout.flush()
    try:
        import termios
    except ImportError:  # Windows
        return
    with suppress(termios.error, OSError, ValueError):
        number = sys.stdin.fileno()
        modes = termios.tcgetattr(number)
        modes[0] |= termios.ICRNL
        modes[1] |= termios.OPOST | termios.ONLCR
        modes[3] |= termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN
        termios.tcsetattr(number, termios.TCSADRAIN, modes)
