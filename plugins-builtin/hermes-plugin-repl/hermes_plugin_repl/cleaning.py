"""What may be written to the terminal, and the terminal as a killed program may have left it."""

from __future__ import annotations

import re
import sys
import unicodedata
from contextlib import suppress
from typing import Final

LEAST_WIDTH: Final = 8
"""Columns; narrower ones are drawn as if they had so many."""
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


def columns(text: str) -> int:
    """How wide a text without line ends stands in a terminal."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def _width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def one_line(text: str, width: int) -> str:
    """On one line of at most ``width`` columns, cut with an ellipsis."""
    flat = " ".join(safe(text).split())
    used = 0
    for position, char in enumerate(flat):
        used += _width(char)
        if used > width - (position + 1 < len(flat)):
            return f"{flat[:position]}…" if width > 0 else ""
    return flat


def wrapped(text: str, width: int) -> str:
    """Lines that are too long are broken between words, and go on below their own beginning.

    What has no spaces (a path, an address, Chinese) is left to the terminal, which breaks it so that
    it can still be copied in one piece.
    """
    width = max(width, LEAST_WIDTH)
    return "\n".join(
        line if columns(line) <= width else _broken(line, width) for line in text.split("\n")
    )


def _broken(line: str, width: int) -> str:
    indent = " " * min(len(line) - len(line.lstrip()) + 2, width // 3)
    rows: list[str] = []
    row, used = "", 0
    for word in re.split(r"(?<=\s)(?=\S)", line):
        wide = columns(word.rstrip())
        if used + wide > width and row.strip():
            rows.append(row.rstrip())
            row, used = indent, len(indent)
        row += word
        used += columns(word)
    return "\n".join([*rows, row.rstrip()])


def last_rows(text: str, width: int, rows: int) -> list[str]:
    """The end of a text as it is broken into rows by a terminal of that width; at most so many."""
    width = max(width, LEAST_WIDTH)
    found: list[str] = []
    for line in reversed(text.split("\n")[-rows:]):
        # Cut where the beginning would be broken, so that rows stand still while the line grows.
        step = width * rows
        begin = max(0, (len(line) - step) // step * step)
        pieces = _rows(line[begin:], width)
        found = [*pieces, *found]
        if len(found) >= rows:
            return found[-rows:]
    return found


def _rows(line: str, width: int) -> list[str]:
    """One line as rows, broken between words where there are any."""
    rows: list[str] = []
    for row in wrapped(line, width).split("\n"):
        while columns(row) > width:
            at = next(at for at in range(len(row), 0, -1) if columns(row[:at]) <= width)
            rows.append(row[:at])
            row = row[at:]
        rows.append(row)
    return rows


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
