"""Standard streams: never crash on output, and keep stdout for the answer alone."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from hermes_core.agent.cleaning import clean_output


def prepare_streams() -> None:
    """Characters that the terminal's encoding lacks are replaced, never an error (cp1252, ASCII)."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def reserve_stdout() -> TextIO:
    """Take stdout for the answer; whatever else prints there from now on goes to stderr.

    Works on the file descriptor, so plugins, C code and child processes are covered too.
    """
    try:
        kept = os.dup(sys.stdout.fileno())
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    except (OSError, ValueError):  # no real descriptors, as in a test runner
        answer = sys.stdout
        sys.stdout = sys.stderr
        return answer
    encoding = sys.stdout.encoding or "utf-8"
    return open(kept, "w", encoding=encoding, errors="replace", newline="\n", buffering=65536)


def print_error(message: str, *, hint: str = "") -> None:
    """One line of what happened, and one of what to do next, on stderr."""
    text = clean_output(message.strip()).replace("\n", "\n  ")
    sys.stderr.write(f"hermes: {text}\n")
    if hint:
        sys.stderr.write(f"        {clean_output(hint.strip())}\n")
    sys.stderr.flush()


def is_terminal(stream: TextIO) -> bool:
    """True when a person reads or writes at the other end."""
    try:
        return stream.isatty()
    except ValueError:
        return False
