"""The plain line face: renders events as lines of text. Needs nothing of the terminal.

stdout gets the answer, stderr everything else; each answer ends with a line end.
"""

from __future__ import annotations

import re
from typing import Literal, Protocol, TextIO, TypeAlias

from hermes_core.agent.cleaning import clean_output
from hermes_core.cli.console import write_answer
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
    TurnStarted,
    encode_event,
)


class Face(Protocol):
    """Shows events."""

    def show(self, event: Event) -> None:
        """Show one event."""


ToolLines: TypeAlias = Literal["all", "new", "off"]
"""Every tool call is a line, or the first of a row of the same tool, or none."""
_ERROR_KIND = re.compile(r"^Error \(\w+\): ")
SLOW_SECONDS = 3.0
"""A tool call that took longer is told so."""


class PlainFace:
    """Streams the answer, and tells each tool call in a line.

    A blank line stands before an answer, wherever it begins: after the question, after tool calls.
    """

    def __init__(
        self,
        out: TextIO,
        err: TextIO,
        *,
        show_reasoning: bool = False,
        streaming: bool = True,
        tool_progress: ToolLines = "all",
    ) -> None:
        self._out = out
        self._err = err
        self._show_reasoning = show_reasoning
        self._streaming = streaming
        self._tool_progress = tool_progress
        self._held: list[str] = []
        self._last_tool = ""
        self.show_results = False
        """Whether what tools return is shown whole."""
        self._open_line = False
        self._thinking = False
        self._begins = True
        self._gap = False
        self._flush = out.isatty()

    def show(self, event: Event) -> None:
        if type(event) is TextDelta:
            self._last_tool = ""
            if self._streaming:
                self._text(event.text)
            else:
                self._held.append(event.text)
            return
        match event:
            case ReasoningDelta(text=text) if self._show_reasoning:
                self._thinking = True
                _tell(self._err, text, end="")
            case MessageDone(message=message) if message.role == "assistant":
                self._release()
                self._end_line()
                self._begins = True
            case MessageDone(message=message) if message.role == "tool" and self.show_results:
                self._line("  " + message.text.replace("\n", "\n  "))
            case ToolStarted() | ToolProgress() | ToolDone():
                if self._tool_progress != "off":
                    self._tool(event)
            case Retrying(detail=detail, delay=delay):
                self._held.clear()
                self._line(_retry(detail, delay))
            case Steered(text=text):
                self._line(f"(passed on: {text})")
            case Notice(text=text):
                self._line(text)
            case ApprovalAsked():
                self._end_line()
            case TurnStarted():
                _tell(self._err, "")
                self._begins, self._gap = True, False
                self._last_tool = ""
            case TurnEnded():
                self._ended(event)
            case _:
                pass

    def _text(self, text: str) -> None:
        text = clean_output(text)
        if self._begins:
            text = text.lstrip("\n")
            if text:
                self._begin()
        if text:
            write_answer(self._out, text, flush=self._flush)
            self._open_line = not text.endswith("\n")

    def _begin(self) -> None:
        """Stand apart from what is there already."""
        if self._gap or self._thinking:
            _tell(self._err, "\n" if self._thinking else "")
        self._begins = self._gap = self._thinking = False

    def _tool(self, event: ToolStarted | ToolProgress | ToolDone) -> None:
        match event:
            case ToolStarted(tool=tool, label=label):
                is_more = tool == self._last_tool and self._tool_progress == "new"
                self._last_tool = tool
                if not is_more:
                    self._line(f"· {tool} {label}".rstrip())
            case ToolProgress(text=text):
                if self._tool_progress == "all":
                    self._line(f"  {text}")
            case ToolDone():
                self._tool_done(event)

    def _tool_done(self, done: ToolDone) -> None:
        match done.status:
            case "ok":
                if done.seconds >= SLOW_SECONDS and self._tool_progress == "all":
                    self._line(f"  done in {done.seconds:.0f} s")
            case "blocked" | "cancelled":  # it never began, so no line of it is there yet
                self._line(f"· {done.tool} was not run: {done.summary}")
            case "interrupted":
                self._line("  interrupted")
            case status:
                what = _ERROR_KIND.sub("", done.summary)
                self._line(f"  {done.tool} {status}: {what}")

    def _release(self) -> None:
        """Show what was held because the answer is not shown as it comes."""
        if self._held:
            held, self._held = "".join(self._held), []
            self._text(held)

    def _ended(self, end: TurnEnded) -> None:
        self._release()
        self._end_line()
        if end.outcome == "guardrail":
            self._line(end.text)
        elif end.outcome != "completed":
            self._line(_reason(end))
        if end.unsent:
            self._line("Not passed on any more: " + " / ".join(end.unsent))

    def _end_line(self) -> None:
        if self._thinking:
            self._thinking = False
            _tell(self._err, "")
        if self._open_line:
            self._open_line = False
            write_answer(self._out, "\n")

    def _line(self, text: str) -> None:
        self._end_line()
        self._begins = self._gap = True
        _tell(self._err, text)


class AnswerFace:
    """``-q``: only the final answer on stdout, problems on stderr."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err

    def show(self, event: Event) -> None:
        match event:
            case Retrying(detail=detail, delay=delay):
                _tell(self._err, _retry(detail, delay))
            case Notice(text=text):
                _tell(self._err, text)
            case ToolDone(tool=tool, status="blocked", summary=summary):
                _tell(self._err, f"{tool} was not run: {summary}")
            case TurnEnded(text=text, outcome=outcome):
                if text:
                    write_answer(self._out, clean_output(text).rstrip("\n") + "\n")
                if outcome not in ("completed", "guardrail"):
                    _tell(self._err, "hermes: " + _reason(event).replace("\n", "\n        "))
            case _:
                pass


class JsonFace:
    """``--json``: every event as one line of JSON, in UTF-8 whatever the terminal speaks."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        reconfigure = getattr(out, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8")

    def show(self, event: Event) -> None:
        write_answer(self._out, encode_event(event).decode() + "\n")


def _retry(detail: str, delay: float) -> str:
    return f"{detail.rstrip('.')}. Trying again in {max(1, round(delay))} s."


def _reason(end: TurnEnded) -> str:
    """What happened, and on a line of its own what to do next."""
    return "\n".join(filter(None, (end.reason, end.hint))) or end.outcome


def _tell(err: TextIO, text: str, *, end: str = "\n") -> None:
    try:
        err.write(clean_output(text) + end)
        err.flush()
    except (OSError, ValueError):
        pass  # nobody reads it any more; the answer is what counts
