"""The plain line face: renders events as lines of text. Needs nothing of the terminal.

stdout gets the answer, stderr everything else; each answer ends with a line end.
"""

from __future__ import annotations

from typing import Protocol, TextIO

from hermes_core.agent.cleaning import clean_output
from hermes_plugins._events import (
    ApprovalAsked,
    Event,
    MessageDone,
    Notice,
    ReasoningDelta,
    Retrying,
    Steered,
    TextDelta,
    ToolDone,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    encode_event,
)


class Face(Protocol):
    """Shows events."""

    def show(self, event: Event) -> None:
        """Show one event."""


class PlainFace:
    """Streams the answer, and tells each tool call in a line."""

    def __init__(self, out: TextIO, err: TextIO, *, show_reasoning: bool = False) -> None:
        self._out = out
        self._err = err
        self._show_reasoning = show_reasoning
        self._open_line = False
        self._flush = out.isatty()

    def show(self, event: Event) -> None:
        if type(event) is TextDelta:
            self._text(event.text)
            return
        match event:
            case ReasoningDelta(text=text) if self._show_reasoning:
                self._err.write(clean_output(text))
            case MessageDone(message=message) if message.role == "assistant":
                self._end_line()
            case ToolStarted(tool=tool, label=label):
                self._line(f"· {tool} {label}".rstrip())
            case ToolProgress(text=text):
                self._line(f"  {text}")
            case ToolDone(tool=tool, status=status, summary=summary, seconds=seconds):
                if status != "ok":
                    self._line(f"  {status}: {summary}")
                elif seconds >= 1:
                    self._line(f"  done in {seconds:.1f} s")
            case Retrying(detail=detail, attempt=attempt, delay=delay):
                self._line(f"{detail} Trying again in {delay:.0f} s (attempt {attempt + 1}).")
            case Steered(text=text):
                self._line(f"(passed on: {text})")
            case Notice(text=text):
                self._line(text)
            case ApprovalAsked():
                self._end_line()
            case TurnEnded():
                self._ended(event)
            case _:
                pass

    def _text(self, text: str) -> None:
        text = clean_output(text)
        self._out.write(text)
        self._open_line = not text.endswith("\n") if text else self._open_line
        if self._flush:
            self._out.flush()

    def _ended(self, end: TurnEnded) -> None:
        self._end_line()
        self._out.flush()
        if end.outcome != "completed" and end.outcome != "guardrail":
            self._line(f"{end.reason} {end.hint}".strip() or end.outcome)
        elif end.outcome == "guardrail":
            self._line(end.text)
        if end.unsent:
            self._line("Not passed on any more: " + " / ".join(end.unsent))

    def _end_line(self) -> None:
        if self._open_line:
            self._out.write("\n")
            self._open_line = False
            self._out.flush()

    def _line(self, text: str) -> None:
        self._end_line()
        self._err.write(clean_output(text) + "\n")
        self._err.flush()


class AnswerFace:
    """``-q``: only the final answer on stdout, problems on stderr."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err

    def show(self, event: Event) -> None:
        match event:
            case Retrying(detail=detail, delay=delay):
                self._err.write(clean_output(f"{detail} Trying again in {delay:.0f} s.\n"))
            case Notice(text=text):
                self._err.write(clean_output(text) + "\n")
            case ToolDone(tool=tool, status="blocked", summary=summary):
                self._err.write(clean_output(f"{tool} {summary}\n"))
            case TurnEnded(text=text, outcome=outcome, reason=reason, hint=hint):
                if text:
                    self._out.write(clean_output(text).rstrip("\n") + "\n")
                    self._out.flush()
                if outcome not in ("completed", "guardrail"):
                    self._err.write(clean_output(f"hermes: {reason} {hint}".rstrip()) + "\n")
            case _:
                pass


class JsonFace:
    """``--json``: every event as one line of JSON."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def show(self, event: Event) -> None:
        self._out.write(encode_event(event).decode() + "\n")
        self._out.flush()
