"""The terminal: what is finished goes above and stays, what is alive stands below, with the input.

One prompt_toolkit application that lives as long as the shell and never takes the whole screen. Text
goes above in batches, each with the redraw below it in one write, so that nothing flickers.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Final, TextIO

from prompt_toolkit.application import Application, in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Condition, has_completions
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText, StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import ConditionalContainer, HSplit, Layout, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style

from hermes_plugins import Clock

from .skins import Palette

FRAME_SECONDS: Final = 0.05
"""Between two redraws while an answer streams in."""
BUSY_SECONDS: Final = 0.02
"""The same where more waits to be drawn than one frame does."""
LAST_FRAMES: Final = 25
"""Drawn at most when the person leaves in the middle of an answer; the rest is in the session."""
INPUT_ROWS: Final = 10
LIVE_ROWS: Final = 12
_HELD: Final = ("\x1b[?2026h", "\x1b[?2026l")
"""Synchronised output: a terminal that knows it shows all that is between at once."""
_STYLE: Final = {
    "completion-menu": "bg:default fg:default",
    "completion-menu.completion": "bg:default fg:default",
    "completion-menu.completion.current": "reverse",
    "completion-menu.meta.completion.current": "reverse",
    "scrollbar.background": "bg:default",
    "scrollbar.button": "reverse",
}
_DEPTHS: Final = {
    0: ColorDepth.DEPTH_1_BIT,
    16: ColorDepth.DEPTH_4_BIT,
    256: ColorDepth.DEPTH_8_BIT,
}


class _OneWrite(Vt100_Output):
    """While ``held``, what is written waits, and then leaves in one piece."""

    held = False

    def flush(self) -> None:
        if not self.held:
            super().flush()


def open_output(stream: TextIO) -> Output:
    """The terminal behind a stream."""
    if sys.platform == "win32":
        from prompt_toolkit.output.defaults import create_output

        return create_output(stdout=stream)
    output = _OneWrite.from_pty(stream)
    output.enable_cpr = False  # its answer would be typed into whatever reads next
    return output


def _style(palette: Palette) -> Style:
    kinds = palette.for_prompt_toolkit()
    meta = {"completion-menu.meta.completion": f"bg:default {kinds['status']}"}
    return Style.from_dict({**kinds, **_STYLE, **meta})


class Screen:
    """The application and its parts.

    ``live`` and ``status`` are asked at every redraw, ``frame`` is called before each and says
    whether there is more to draw; ``prompt`` stands before the input.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        keys: KeyBindings,
        history: History,
        completer: Completer,
        live: Callable[[int], str],
        status: Callable[[int], StyleAndTextTuples],
        frame: Callable[[], bool],
        palette: Palette,
    ) -> None:
        self._frame = frame
        self.prompt = "> "
        self.output = open_output(sys.stdout)
        self._clock = clock
        self._pending: list[str] = []
        self._dirty = asyncio.Event()
        self._drawn = asyncio.Event()
        self._is_away = False
        self.buffer = Buffer(
            multiline=True, history=history, completer=completer, complete_while_typing=True
        )
        self.app: Application[int] = Application(
            layout=self._layout(live, status),
            key_bindings=keys,
            style=_style(palette),
            output=self.output,
            color_depth=_DEPTHS.get(palette.colours, ColorDepth.DEPTH_24_BIT),
            erase_when_done=True,
            max_render_postpone_time=None,  # we do not redraw more often than has to be
        )
        self.app.timeoutlen = 0.25
        self.app.ttimeoutlen = 0.05
        self.app.after_render += self._let_go

    def _layout(
        self, live: Callable[[int], str], status: Callable[[int], StyleAndTextTuples]
    ) -> Layout:
        def live_text() -> AnyFormattedText:
            return ANSI(live(self.width))

        def status_text() -> AnyFormattedText:
            return status(self.width)

        self._input = Window(
            BufferControl(buffer=self.buffer),
            get_line_prefix=lambda line, wrap: [
                ("class:prompt", self.prompt if line == wrap == 0 else " " * len(self.prompt))
            ],
            height=Dimension(min=1, max=INPUT_ROWS),
            dont_extend_height=True,
            wrap_lines=True,
        )
        alive = Condition(lambda: bool(live(self.width)))
        return Layout(
            HSplit(
                [
                    ConditionalContainer(
                        Window(
                            FormattedTextControl(live_text),
                            height=Dimension(max=LIVE_ROWS),
                            dont_extend_height=True,
                            wrap_lines=True,
                        ),
                        alive,
                    ),
                    Window(height=1),
                    self._input,
                    ConditionalContainer(CompletionsMenu(max_height=6), has_completions),
                    Window(
                        FormattedTextControl(status_text),
                        height=1,
                        dont_extend_height=True,
                    ),
                ]
            ),
            focused_element=self._input,
        )

    @property
    def width(self) -> int:
        """Columns of the terminal now."""
        return self.output.get_size().columns

    async def run(self) -> int:
        """Until `leave`; returns its status. What was added before stands above the first prompt."""
        self._write_all()
        drawing = asyncio.get_running_loop().create_task(self._draw())
        try:
            return await self.app.run_async(handle_sigint=True, set_exception_handler=False)
        finally:
            drawing.cancel()
            self._let_go()
            self._write_all()

    def _write_all(self) -> None:
        for _ in range(LAST_FRAMES):
            if not self._frame():
                break
        text, self._pending = "".join(self._pending), []
        self._write(text)

    def leave(self, status: int) -> None:
        """End `run`."""
        if self.app.is_running and not self.app.is_done:
            self.app.exit(result=status)

    def add(self, text: str) -> None:
        """Text to stand above; each line ended. It is drawn with the next frame."""
        self._pending.append(text)
        self._dirty.set()

    def touch(self) -> None:
        """What is alive has changed."""
        self._dirty.set()

    async def next_frame(self) -> None:
        """Wait until the next frame has been drawn."""
        self._drawn.clear()
        self._dirty.set()
        await self._drawn.wait()

    async def lend(self, work: Callable[[], object]) -> object:
        """Give the terminal to something else while ``work`` (which may be awaited) runs."""
        self._is_away = True
        try:
            async with in_terminal():
                result = work()
                return await result if asyncio.iscoroutine(result) else result
        finally:
            self._is_away = False
            self.touch()

    def clear(self) -> None:
        """An empty screen with the input at its top."""
        self.app.renderer.clear()

    async def _draw(self) -> None:
        """One frame after the other, whenever there is something new."""
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            if self._is_away or not self.app.is_running:
                await self._clock.sleep(FRAME_SECONDS)
                self._dirty.set()
                continue
            more = self._frame()
            self._drawn.set()
            if self._pending:
                text, self._pending = "".join(self._pending), []
                if isinstance(self.output, _OneWrite):
                    self.output.held = True
                    self.output.write_raw(_HELD[0])
                self.app.renderer.erase()
                self._write(text)
            self.app.invalidate()
            if more:
                self._dirty.set()
            await self._clock.sleep(BUSY_SECONDS if more else FRAME_SECONDS)

    def _write(self, text: str) -> None:
        self.output.write_raw(text.replace("\n", "\r\n"))
        self.output.flush()

    def _let_go(self, _: object = None) -> None:
        if isinstance(self.output, _OneWrite) and self.output.held:
            self.output.held = False
            self.output.write_raw(_HELD[1])
            self.output.flush()
