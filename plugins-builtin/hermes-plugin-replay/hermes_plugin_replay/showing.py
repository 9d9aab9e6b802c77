"""Events as lines of text, or as JSON, at any pace."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import BinaryIO, Protocol, TextIO

from hermes_plugins import (
    ApprovalAsked,
    ApprovalDone,
    Clock,
    Event,
    MessageDone,
    Notice,
    Retrying,
    Steered,
    TextDelta,
    ToolDone,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    encode_event,
)

LONGEST = 2.0
"""Seconds that a pause takes at most, at any speed: somebody thought, or had gone for lunch."""

_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])?"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean(text: str) -> str:
    """``text`` without what could steer a terminal."""
    return _CONTROL.sub("", _ESCAPE.sub("", text.replace("\r\n", "\n")))


async def play(
    events: Iterable[Event], show: Callable[[Event], None], *, clock: Clock, speed: float
) -> None:
    """Show the events; ``speed`` 1 is as fast as it was, 2 twice as fast, 0 at once."""
    before = 0.0
    for event in events:
        if speed and before and event.time > before:
            await clock.sleep(min((event.time - before) / speed, LONGEST))
        before = event.time
        show(event)


class Shows(Protocol):
    """Shows events, one after the other."""

    def show(self, event: Event) -> None:
        """Show one."""


class Lines:
    """Shows events to a person; ``flushes`` where they watch it happen."""

    def __init__(self, out: TextIO, *, flushes: bool) -> None:
        self._out = out
        self._flushes = flushes
        self._open = False

    def show(self, event: Event) -> None:
        match event:
            case TextDelta(text=text):
                text = clean(text)
                self._write(text)
                self._open = not text.endswith("\n") if text else self._open
            case TurnStarted(message=message):
                self._line("\n> " + message.text.strip().replace("\n", "\n  ") + "\n")
            case MessageDone():
                self._end_line()
            case ToolStarted(tool=tool, label=label):
                self._line(f"· {tool} {label}".rstrip())
            case ToolProgress(text=text) | Notice(text=text):
                self._line(f"  {text}")
            case ToolDone():
                self._done(event)
            case ApprovalAsked(tool=tool, shown=shown, reason=reason):
                self._line(f"? {tool} asked, because {reason}:\n    " + indented(shown))
            case ApprovalDone(answer=answer, by=by):
                self._line(f"  answered: {answer} ({by})")
            case Retrying(detail=detail, delay=delay):
                self._line(f"  {detail.rstrip('.')}. Tried again after {delay:.0f} s.")
            case Steered(text=text):
                self._line(f"  (said meanwhile: {text})")
            case TurnEnded(outcome=outcome, reason=reason) if outcome != "completed":
                self._line("  " + indented(reason or outcome, 2))
            case _:
                pass

    def _done(self, done: ToolDone) -> None:
        match done.status:
            case "ok":
                pass
            case "blocked" | "cancelled":
                self._line(f"· {done.tool} was not run: {done.summary}")
            case status:
                self._line(f"  {done.tool} {status}: {done.summary}")

    def _line(self, text: str) -> None:
        self._end_line()
        self._write(clean(text) + "\n")

    def _write(self, text: str) -> None:
        self._out.write(text)
        if self._flushes:
            self._out.flush()

    def _end_line(self) -> None:
        if self._open:
            self._open = False
            self._write("\n")


def indented(text: str, columns: int = 4) -> str:
    """Further lines under the first."""
    return text.replace("\n", "\n" + " " * columns)


class Json:
    """Shows events as ``hermes chat --json`` does."""

    def __init__(self, out: BinaryIO, *, flushes: bool) -> None:
        self._out = out
        self._flushes = flushes

    def show(self, event: Event) -> None:
        self._out.write(encode_event(event) + b"\n")
        if self._flushes or isinstance(event, TurnEnded):
            self._out.flush()
