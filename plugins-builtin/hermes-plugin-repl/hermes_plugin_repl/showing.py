"""What a turn looks like: its events become text above, and what is alive below."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import TYPE_CHECKING, Final, TypeGuard

import msgspec

from hermes_plugins import (
    Clock,
    Event,
    Message,
    MessageDone,
    Notice,
    ReasoningDelta,
    RequestStarted,
    Retrying,
    Steered,
    TextDelta,
    ToolDone,
    ToolProgress,
    ToolStarted,
    TurnEnded,
)

from .blocks import Block, Blocks
from .cleaning import one_line, safe

if TYPE_CHECKING:
    from .painting import Painter

SPINNER: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SPIN_SECONDS: Final = 0.12
RESULT_LINES: Final = 12
"""Of a diff that is shown without /verbose."""
FRAME_SECONDS: Final = 0.015
"""What drawing may take at a time."""
BATCH: Final = 16
"""Blocks that are drawn in one go; about 5 ms."""
_OPEN_ROWS: Final = 6


class _Call(msgspec.Struct):
    """A tool call that runs."""

    tool: str
    label: str
    started: float
    progress: str = ""


class Shown:
    """Shows the events of turns. ``add`` puts text above, ``touch`` asks for a frame."""

    def __init__(
        self,
        *,
        add: Callable[[str], None],
        touch: Callable[[], None],
        width: Callable[[], int],
        clock: Clock,
        colours: bool,
    ) -> None:
        self._add = add
        self._touch = touch
        self._width = width
        self._clock = clock
        self._colours = colours
        self._painter: Painter | None = None
        self._blocks = Blocks()
        self._queue: list[Block | str] = []
        self._calls: dict[str, _Call] = {}
        self._labels: dict[str, str] = {}
        self._held: dict[str, str] = {}
        self._results: list[tuple[str, str]] = []
        self._began = 0.0
        self._thought = ""
        self.verbose = False
        self.show_reasoning = False
        self.requests = 0
        """Model calls of this turn."""
        self.queued: list[str] = []
        """What was said and has not reached the model yet."""

    # -- alive -------------------------------------------------------------------------

    def begin(self) -> None:
        """A turn begins."""
        self._began = self._clock.monotonic()
        self.requests = 0

    def live(self, width: int, *, working: bool) -> str:
        """The rows that change: the open block, the calls that run, what waits."""
        rows: list[str] = []
        open_text = "" if self._queue else safe(self._blocks.open)
        if open_text:
            rows += [*([] if self._blocks.is_tight else [""]), *open_text.split("\n")[-_OPEN_ROWS:]]
        now = self._clock.monotonic()
        turn = SPINNER[int(now / SPIN_SECONDS) % len(SPINNER)]
        for call in self._calls.values():
            seconds = f"  {now - call.started:.1f} s"
            what = one_line(f"{call.tool} {call.label}", width - len(seconds) - 3)
            rows.append(f"{turn} {what}{seconds}")
            if call.progress:
                rows.append(f"  {one_line(call.progress, width - 3)}")
        if working and not self._calls and not open_text:
            rows.append(
                f"{turn} {'thinking' if self._thought else 'working'}  {now - self._began:.0f} s"
            )
        rows += [one_line(f"⧗ {text}  (queued)", width - 1) for text in self.queued]
        return "\n".join(rows)

    # -- above -------------------------------------------------------------------------

    def text(self, text: str) -> None:
        """Plain text, from a command or about the session."""
        self._put(safe(text).rstrip("\n") + "\n")

    def said(self, text: str) -> None:
        """What the person said."""
        lines = safe(text).split("\n")
        more = f"\n  … {len(lines) - 12} more lines" if len(lines) > 12 else ""
        body = "\n  ".join(lines[:12]) + more
        self._put(f"\n{self._styled('1', f'> {body}')}\n")

    def show(self, event: Event) -> None:
        """One event of the running turn."""
        match event:
            case TextDelta(text=text):
                self._thought = ""
                self._queue += self._blocks.feed(text)
            case ReasoningDelta(text=text):
                self._thought = (self._thought + text)[-4000:]
            case RequestStarted(number=number):
                self.requests = number
            case MessageDone(message=message):
                self._message(message)
            case ToolStarted(call=call, tool=tool, label=label):
                self._flush()
                self._labels[call] = f"{tool} {label}"
                self._calls[call] = _Call(tool, label, self._clock.monotonic())
            case ToolProgress(call=call, text=text) if call in self._calls:
                self._calls[call].progress = text
            case ToolDone():
                self._tool_done(event)
            case Retrying(detail=detail, delay=delay):
                self.text(f"{detail.rstrip('.')}. Trying again in {max(1, round(delay))} s.")
            case Steered(text=text):
                if text in self.queued:
                    self.queued.remove(text)
                self._flush()
                self.said(text)
            case Notice(text=text):
                self.text(text)
            case TurnEnded():
                self._ended(event)
            case _:
                pass

    def frame(self) -> bool:
        """Put what has come above, in its order; True where there is more for the next frame.

        A frame draws for `FRAME_SECONDS` at most, so that typing stays fluent.
        """
        until = self._clock.monotonic() + FRAME_SECONDS
        while self._queue and self._clock.monotonic() < until:
            first = self._queue[0]
            if isinstance(first, str):
                self._add(first)
                del self._queue[0]
            else:
                batch = list(filter(_is_block, takewhile(_is_block, self._queue[:BATCH])))
                self._add(self._paint().blocks(batch, self._width()))
                del self._queue[: len(batch)]
        return bool(self._queue)

    def last_result(self) -> str:
        """What the last tool call returned, whole."""
        if not self._results:
            return "No tool has returned anything yet."
        title, text = self._results[-1]
        return f"{title}\n{text}"

    # -- inside ------------------------------------------------------------------------

    def _paint(self) -> Painter:
        if self._painter is None:
            from .painting import Painter

            self._painter = Painter(colours=self._colours)
        return self._painter

    def _put(self, text: str) -> None:
        self._queue.append(text)
        self._touch()

    def _flush(self) -> None:
        """Everything that there is of the answer, also what is not finished."""
        self._queue += self._blocks.end()

    def _message(self, message: Message) -> None:
        if message.role == "assistant":
            if self._thought and self.show_reasoning:
                self._put(self._styled("2", safe(self._thought).strip()) + "\n")
            self._thought = ""
            self._flush()
        elif message.role == "tool":
            text = safe(message.text)
            self._results = [
                *self._results[-9:],
                (self._labels.get(message.tool_call_id, ""), text),
            ]
            if message.tool_call_id in self._calls:
                self._held[message.tool_call_id] = text  # its line comes first
            else:
                self._result(text)

    def _result(self, text: str) -> None:
        begin = f"\n{text}".find("\n@@ -")
        if self.verbose:
            self._put(self._paint().diff(text))
        elif begin >= 0:
            lines = text[begin:].split("\n")
            more = len(lines) - RESULT_LINES
            tail = f"\n… {more} more lines, Ctrl-O shows them" if more > 0 else ""
            self._put(self._paint().diff("\n".join(lines[:RESULT_LINES]) + tail))

    def _tool_done(self, done: ToolDone) -> None:
        call = self._calls.pop(done.call, None)
        label = call.label if call is not None else ""
        self._flush()
        width = self._width()
        if done.status == "ok":
            seconds = f"  {done.seconds:.1f} s"
            what = one_line(f"{done.tool} {label}", width - len(seconds) - 3)
            self._put(f"{self._styled('32', '✓')} {what}{seconds}\n")
        else:
            self._put(self._not_done(done, label, width))
        if (result := self._held.pop(done.call, None)) is not None:
            self._result(result)

    def _not_done(self, done: ToolDone, label: str, width: int) -> str:
        if done.status in ("blocked", "cancelled"):
            said = f"{done.tool} was not run: {done.summary}"
        else:
            said = f"{done.tool} {label}  {done.status}: {done.summary}"
        return f"{self._styled('31', '✗')} {one_line(said, width - 3)}\n"

    def _ended(self, end: TurnEnded) -> None:
        self._flush()
        self._calls.clear()
        self._held.clear()
        self._thought = ""
        if end.outcome != "completed":
            reason = "\n".join(filter(None, (end.reason, end.hint))) or end.outcome
            text = end.text if end.outcome == "guardrail" else reason
            self._put(self._styled("33", safe(text).rstrip("\n")) + "\n")

    def _styled(self, code: str, text: str) -> str:
        if not self._colours:
            return text
        return "\n".join(
            f"\x1b[{code}m{line}\x1b[0m" if line else line for line in text.split("\n")
        )


def _is_block(one: Block | str) -> TypeGuard[Block]:
    return isinstance(one, Block)
