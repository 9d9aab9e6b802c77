"""The conversation of the plain face: a prompt, a turn, and so on until the person leaves."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final

from hermes_core.agent.cleaning import clean_output
from hermes_core.cli.console import tell
from hermes_core.cli.face import Face, PlainFace
from hermes_core.cli.lines import Lines
from hermes_core.cli.signals import Signals
from hermes_plugins._events import TurnEnded

if TYPE_CHECKING:
    from hermes_plugins._approvals import Answer
    from hermes_plugins._faces import FaceHost, FaceSession, RunHandle, SessionWish
    from hermes_plugins._messages import Message

EXIT_STATUS: Final = {"completed": 0, "interrupted": 130}
"""Every other outcome is a failure: 1."""
_CTRL_C: Final = "\x03"


async def run_turn(
    session: FaceSession, message: str | Message, face: Face, *, signals: Signals
) -> int:
    """Answer one message; returns the exit status that tells how it went."""
    end: TurnEnded | None = None
    async with session.run(message) as run:
        signals.interrupt = run.interrupt
        try:
            async for event in run:
                face.show(event)
                if isinstance(event, TurnEnded):
                    end = event
        finally:
            signals.interrupt = None
    if signals.told_to_end:
        return signals.status
    return EXIT_STATUS.get(end.outcome, 1) if end is not None else 1


class Talk:
    """One conversation. Implements the kit's `SlashContext`; nothing runs while a command does."""

    def __init__(
        self,
        face: FaceHost,
        session: FaceSession,
        *,
        wish: SessionWish,
        shown: PlainFace,
        lines: Lines,
        signals: Signals,
    ) -> None:
        self.face = face
        self.session = session
        self.running: RunHandle | None = None
        self._wish = wish
        self._shown = shown
        self._lines = lines
        self._signals = signals
        self._waiting: deque[str | Message] = deque()
        self._is_left = False

    async def run(self) -> int:
        """Talk until the person leaves; returns the exit status."""
        tell(f"Hermes with {self.session.model}. Ctrl-C interrupts, Ctrl-D leaves, /help helps.\n")
        self._say_where()
        leaving = False
        while not self._is_left:
            line = await self._next_line()
            if line == _CTRL_C:
                if leaving or self._signals.told_to_end:
                    self._say_goodbye()
                    return self._signals.status
                leaving = True
                tell("\n(Ctrl-C once more leaves)\n")
                continue
            leaving = False
            if line is None:
                break
            await self._take(line)
            while self._waiting:
                await run_turn(
                    self.session, self._waiting.popleft(), self._shown, signals=self._signals
                )
                if self._signals.told_to_end:
                    return self._signals.status
        self._say_goodbye()
        return 0

    async def _take(self, line: str) -> None:
        if not line.strip():
            return
        said = await self.face.command(self, line)
        if said is None:
            self.submit(line)
        elif said:
            tell(clean_output(said) + "\n")

    async def _next_line(self) -> str | None:
        """A line, None at the end, or ``_CTRL_C`` when the person pressed that at the prompt."""
        loop = asyncio.get_running_loop()
        pressed: asyncio.Future[None] = loop.create_future()
        reading = loop.create_task(self._lines.read("\n> "))

        def press(reason: str) -> None:
            pressed.set_result(None)

        self._signals.interrupt = press
        try:
            both: set[asyncio.Future[str | None] | asyncio.Future[None]] = {reading, pressed}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            return reading.result() if reading.done() else _CTRL_C
        finally:
            self._signals.interrupt = None
            reading.cancel()

    # -- SlashContext ----------------------------------------------------------------------

    async def switch(self, wish: SessionWish) -> None:
        mode = self.session.status.mode
        opened = await self.face.open(self._wish.onward(wish, mode=mode))
        await self.session.close()
        self.session = opened

    def submit(self, message: str | Message) -> None:
        self._waiting.append(message)

    def leave(self) -> None:
        self._is_left = True

    def answer(self, answer: Answer) -> bool:
        return False  # a question is answered at its own prompt

    def toggle_verbose(self) -> bool:
        self._shown.show_results = not self._shown.show_results
        return self._shown.show_results

    async def edit(self, text: str) -> str:
        self._signals.interrupt = lambda reason: None  # Ctrl-C is the editor's
        try:
            return await self.face.edit(text)
        finally:
            self._signals.interrupt = None

    # -- what is said about the session ----------------------------------------------------

    def _say_where(self) -> None:
        asked = sum(one.role == "user" and bool(one.text) for one in self.session.history)
        if asked:
            name = self.session.info.title or self.session.info.id
            count = f"{asked} question{'s' * (asked > 1)}"
            tell(f"Going on with {name!r} ({count} so far).\n")

    def _say_goodbye(self) -> None:
        if self.session.history:
            tell(f"\nThis was session {self.session.info.id}; `hermes -c` goes on with it.\n")
        else:
            tell("\n")
