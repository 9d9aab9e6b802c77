"""Standard streams: never crash on output, and keep stdout for the answer alone."""

from __future__ import annotations

import os
import sys
from typing import TextIO, cast

from hermes_core.agent.cleaning import clean_output
from hermes_core.config import process_environment
from hermes_plugins._errors import HermesError


def prepare_streams() -> None:
    """Characters that the terminal's encoding lacks are replaced, never an error (cp1252, ASCII).

    A stream that was closed by the caller (``<&-``, ``>&-``) becomes the null device; else the
    first file opened would get its number, and whatever a child prints would end up in there.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, _null_device(number, mode))
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


def write_answer(out: TextIO, text: str, *, flush: bool = True) -> None:
    """Write what the caller asked for.

    Raises:
        HermesError: it cannot be written (a full disk); BrokenPipeError stays what it is.
    """
    try:
        out.write(text)
        if flush:
            out.flush()
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise HermesError(
            f"the answer could not be written: {reason}.",
            hint="It is kept in the session: `hermes sessions list`",
        ) from error


def let_go(out: TextIO) -> None:
    """Write out what is left; what cannot be written was said before, and is dropped."""
    try:
        out.flush()
    except (OSError, ValueError):
        silence(out)


def silence(stream: TextIO) -> None:
    """Whatever is written there from now on goes nowhere: its reader is gone, or has to be spared."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        pass


def print_error(message: str, *, hint: str = "") -> None:
    """One line of what happened, and one of what to do next, on stderr."""
    text = clean_output(message.strip()).replace("\n", "\n  ")
    lines = f"hermes: {text}\n"
    if hint:
        lines += f"        {clean_output(hint.strip())}\n"
    tell(lines)


def tell(text: str) -> None:
    """Write to stderr at once; where nobody reads it any more, nothing is lost."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


def is_terminal(stream: TextIO) -> bool:
    """True when a person reads or writes at the other end."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def can_draw(out: TextIO) -> bool:
    """True where a shell may take the terminal: a person at both ends, UTF-8, and more than lines."""
    encoding = (getattr(out, "encoding", "") or "").lower().replace("-", "")
    is_dumb = process_environment().get("TERM", "" if os.name == "nt" else "dumb") == "dumb"
    return is_terminal(sys.stdin) and is_terminal(out) and encoding == "utf8" and not is_dumb


def _null_device(number: int, mode: str) -> TextIO:
    """The null device, on that descriptor where it is free."""
    opened = os.open(os.devnull, os.O_RDWR)
    try:
        os.fstat(number)
    except OSError:
        os.dup2(opened, number)
        os.close(opened)
        opened = number
    return cast("TextIO", open(opened, mode, encoding="utf-8", errors="replace"))
