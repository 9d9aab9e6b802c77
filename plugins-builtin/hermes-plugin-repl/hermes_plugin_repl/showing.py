"""What a turn looks like: its events become text above, and what is alive below."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Final, Literal, TypeGuard

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
from .cleaning import last_rows, one_line, safe, wrapped
from .skins import Palette

if TYPE_CHECKING:
    from .painting import Painter

SPINNER: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SPIN_SECONDS: Final = 0.12
RESULT_LINES: Final = 12
"""Of a diff that is shown without /verbose."""
SAID_LINES: Final = 12
"""Of a message that the person sent."""
FRAME_SECONDS: Final = 0.005
"""What drawing may take at a time: a key that is pressed meanwhile waits for it."""
BATCH: Final = 4
"""Blocks that are drawn in one go; about 1 ms."""
PIECE: Final = 4_000
"""Characters of a delta that are looked at in one go; deltas that had to wait are merged."""
AHEAD: Final = 64
"""Blocks that may wait to be drawn; then the model's stream has to wait too."""
KEPT_RESULTS: Final = 20
_OPEN_ROWS: Final = 6
_THOUGHT_ROWS: Final = 3


class Display(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of the section ``display`` that matter here."""

    skin: str = "default"
    streaming: bool = True
    show_reasoning: bool = False
    tool_progress: Literal["all", "new", "off"] = "all"


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
        palette: Palette,
        display: Display,
    ) -> None:
        self._add = add
        self._touch = touch
        self._width = width
        self._clock = clock
        self._paint = palette.paint
        self._palette = palette
        self._display = display
        self._painter: Painter | None = None
        self._blocks = Blocks()
        self._queue: list[Block | str] = []
        self._unshown = ""
        self._calls: dict[str, _Call] = {}
        self._labels: dict[str, str] = {}
        self._held: dict[str, str] = {}
        self._last_tool = ""
        self._results: deque[tuple[str, str]] = deque(maxlen=KEPT_RESULTS)
        self._back = 0
        self._began = 0.0
        self._thought = ""
        self._thinks = False
        self.verbose = False
        self.requests = 0
        """Model calls of this turn."""
        self.steering: deque[str] = deque()
        """What was said to this turn and has not reached the model yet."""

    # -- alive -------------------------------------------------------------------------

    def begin(self) -> None:
        """A turn begins."""
        self._began = self._clock.monotonic()
        self._last_tool = ""
        self.requests = 0

    def prepare(self) -> None:
        """Import what draws, which takes a moment; may be called in a thread."""
        from . import painting  # noqa: F401

    def live(self, width: int, *, working: bool) -> str:
        """The rows that change: the open block, the calls that run, what the model does."""
        rows: list[str] = []
        open_text = "" if self._queue else safe(self._blocks.open)
        if open_text:
            rows += [] if self._blocks.is_tight else [""]
            rows += last_rows(open_text, width - 1, _OPEN_ROWS)
        now = self._clock.monotonic()
        turn = SPINNER[int(now / SPIN_SECONDS) % len(SPINNER)]
        if self._display.tool_progress != "off":
            for call in self._calls.values():
                seconds = f"  {now - call.started:.1f} s"
                what = one_line(f"{call.tool} {call.label}", width - len(seconds) - 3)
                rows.append(f"{turn} {what}{self._paint('status', seconds)}")
                if call.progress:
                    rows.append(self._paint("status", f"  {one_line(call.progress, width - 3)}"))
            if self._calls:
                return "\n".join(rows)
        if working and not open_text:
            if self._thinks and self._display.show_reasoning and self._thought:
                thought = last_rows(safe(self._thought), width - 3, _THOUGHT_ROWS)
                rows += [self._paint("thought", f"  {row}") for row in thought]
            doing = "thinking" if self._thinks else "working"
            rows.append(self._paint("status", f"{turn} {doing}  {now - self._began:.0f} s"))
        return "\n".join(rows)

    def queued(self, texts: list[str], width: int) -> str:
        """Rows for what was said and has to wait."""
        return "\n".join(
            self._paint("status", one_line(f"⧗ {text}", width - 10) + " (queued)") for text in texts
        )

    # -- above -------------------------------------------------------------------------

    def text(self, text: str, kind: str = "") -> None:
        """Plain text, from a command or about the session, in the style of a kind."""
        lines = wrapped(safe(text).rstrip("\n"), self._width() - 1)
        self._put((self._paint(kind, lines) if kind else lines) + "\n")

    def said(self, text: str) -> None:
        """What the person said."""
        lines = safe(text).strip("\n").split("\n")
        more = len(lines) - SAID_LINES
        body = wrapped("\n  ".join([f"> {lines[0]}", *lines[1:SAID_LINES]]), self._width() - 1)
        self._put(f"\n{self._paint('you', body)}\n")
        if more > 0:
            self._put(self._paint("status", f"  … {more} more line{'s' * (more > 1)}") + "\n")

    def show(self, event: Event) -> None:
        """One event of the running turn."""
        match event:
            case TextDelta(text=text):
                self._end_thought()
                self._last_tool = ""
                if self._display.streaming:
                    self._queue += self._blocks.feed(text)
                else:
                    self._unshown += text
            case ReasoningDelta(text=text):
                self._think(text)
            case RequestStarted(number=number):
                self.requests = number
            case MessageDone(message=message):
                self._message(message)
            case ToolStarted() | ToolProgress() | ToolDone():
                self._tool(event)
            case Retrying(detail=detail, delay=delay):
                self._unshown = ""
                self._flush()
                seconds = max(1, round(delay))
                self.text(f"{detail.rstrip('.')}. Trying again in {seconds} s.", "warning")
            case Steered(text=text):
                self._flush()
                self.said(self.steering.popleft() if self.steering else text)
            case Notice(text=text, level=level):
                self.text(text, "status" if level == "info" else "warning")
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
                self._add(self._drawing().blocks(batch, self._width()))
                del self._queue[: len(batch)]
        return bool(self._queue)

    @property
    def is_behind(self) -> bool:
        """True while so much waits to be drawn that no more should come."""
        return len(self._queue) > AHEAD

    def show_result(self) -> None:
        """What a tool returned, whole: the last call's, and each time after it the one before."""
        if not self._results:
            self.text("No tool has returned anything yet.", "status")
            return
        self._back = self._back % len(self._results) + 1
        title, text = self._results[-self._back]
        self._put(f"\n{self._paint('heading', one_line(title, self._width() - 1))}\n")
        self._put(self._drawing().result(text))
        if self._back < len(self._results):
            self._put(self._paint("status", "(Ctrl-O once more: the call before)") + "\n")

    # -- inside ------------------------------------------------------------------------

    def _drawing(self) -> Painter:
        if self._painter is None:
            from .painting import Painter

            self._painter = Painter(self._palette)
        return self._painter

    def _put(self, text: str) -> None:
        self._queue.append(text)
        self._touch()

    def _flush(self) -> None:
        """Everything that there is of the answer, also what is not finished."""
        self._end_thought()
        if self._unshown:
            self._queue += self._blocks.feed(self._unshown)
            self._unshown = ""
        self._queue += self._blocks.end()

    def _think(self, text: str) -> None:
        """More of what the model thinks: finished lines go above where they are wanted."""
        if not self._thinks and self._display.show_reasoning:
            self._put("\n")
        self._thinks = True
        *lines, self._thought = (self._thought + text).split("\n")
        if not self._display.show_reasoning:
            self._thought = ""
            return
        for line in lines:
            if line.strip():
                self._put_thought(line)

    def _put_thought(self, line: str) -> None:
        rows = wrapped(f"  {safe(line).strip()}", self._width() - 1).replace("\n  ", "\n")
        self._put(self._paint("thought", rows) + "\n")

    def _end_thought(self) -> None:
        if self._thinks:
            self._thinks = False
            thought, self._thought = self._thought, ""
            if thought.strip():
                self._put_thought(thought)

    def _message(self, message: Message) -> None:
        if message.role == "assistant":
            self._flush()
        elif message.role == "tool":
            text = safe(message.text)
            title = self._labels.pop(message.tool_call_id, message.tool_name)
            self._results.append((title, text))
            self._back = 0
            if message.tool_call_id in self._calls:
                self._held[message.tool_call_id] = text  # its line comes first
            else:
                self._result(text)

    def _result(self, text: str) -> None:
        begin = f"\n{text}".find("\n@@ -")
        if self.verbose:
            self._put(self._drawing().result(text))
        elif begin >= 0 and self._display.tool_progress == "all":
            lines = text[begin:].split("\n")
            more = len(lines) - RESULT_LINES
            self._put(self._drawing().result("\n".join(lines[:RESULT_LINES])))
            if more > 0:
                said = f"    … {more} more line{'s' * (more > 1)}, Ctrl-O shows all"
                self._put(self._paint("status", said) + "\n")

    def _tool(self, event: ToolStarted | ToolProgress | ToolDone) -> None:
        match event:
            case ToolStarted(call=call, tool=tool, label=label):
                self._flush()
                self._labels[call] = f"{tool} {label}"
                self._calls[call] = _Call(tool, label, self._clock.monotonic())
            case ToolProgress(call=call, text=text):
                if call in self._calls:
                    self._calls[call].progress = text
            case ToolDone():
                self._tool_done(event)

    def _tool_done(self, done: ToolDone) -> None:
        call = self._calls.pop(done.call, None)
        self._flush()
        is_more = done.tool == self._last_tool and done.status == "ok"
        self._last_tool = done.tool
        wanted = self._display.tool_progress
        if wanted == "all" or (wanted == "new" and not is_more):
            self._put(self._outcome(done, call.label if call is not None else ""))
        if (result := self._held.pop(done.call, None)) is not None:
            self._result(result)

    def _outcome(self, done: ToolDone, label: str) -> str:
        """The line of a call that ended, and for one that did not do its work, why."""
        width = self._width()
        if done.status == "ok":
            seconds = f"  {done.seconds:.1f} s"
            what = one_line(f"{done.tool} {label}", width - len(seconds) - 3)
            return f"{self._paint('ok', '✓')} {what}{self._paint('status', seconds)}\n"
        mark = self._paint("failed", "✗")
        if done.status in ("blocked", "cancelled"):
            return f"{mark} {one_line(f'{done.tool} was not run: {done.summary}', width - 3)}\n"
        what = one_line(f"{done.tool} {label}", width - 3)
        why = one_line(f"{done.status}: {done.summary.strip('[]')}", width - 5)
        why = done.status if done.status == done.summary.strip("[]") else why
        return f"{mark} {what}\n    {self._paint('failed', why)}\n"

    def _ended(self, end: TurnEnded) -> None:
        self._flush()
        self._calls.clear()
        self._labels.clear()
        self._held.clear()
        if end.outcome != "completed":
            reason = "\n".join(filter(None, (end.reason, end.hint))) or end.outcome
            self.text(end.text if end.outcome == "guardrail" else reason, "warning")


def in_pieces(event: Event) -> Iterator[Event]:
    """The event; a long delta as several."""
    if not isinstance(event, TextDelta) or len(event.text) <= PIECE:
        yield event
        return
    for begin in range(0, len(event.text), PIECE):
        yield msgspec.structs.replace(event, text=event.text[begin : begin + PIECE])


def _is_block(one: Block | str) -> TypeGuard[Block]:
    return isinstance(one, Block)
