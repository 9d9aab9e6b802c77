"""One conversation at the terminal: what is typed, the turn that runs, and what waits for it.

Implements the kit's `SlashContext` for commands and `keys.Driver` for the keys.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import msgspec

from hermes_plugins import (
    Answer,
    FaceHost,
    FaceSession,
    HermesError,
    Message,
    RunHandle,
    SessionInfo,
    SessionWish,
    TurnEnded,
)

from .asking import Asker
from .cleaning import one_line
from .completing import PromptCompleter
from .drafting import Pastes, with_files
from .keys import bindings
from .screen import Screen
from .showing import SPIN_SECONDS, Shown

if TYPE_CHECKING:
    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.history import History

INTERRUPTED: Final = 130
_YOU: Final = "you pressed Ctrl-C"


class Conversation:
    """Talks until the person leaves."""

    _screen: Screen
    session: FaceSession

    def __init__(
        self, face: FaceHost, wish: SessionWish, *, history: History, colours: bool
    ) -> None:
        self.face = face
        self.running: RunHandle | None = None
        self._clock = face.host.clock
        self._shown = Shown(
            add=lambda text: self._screen.add(text),
            touch=lambda: self._screen.touch(),
            width=lambda: self._screen.width,
            clock=self._clock,
            colours=colours,
        )
        self._shown.show_reasoning = bool(face.display.get("show_reasoning"))
        self._asker = Asker(
            show=self._shown.text, begin=self._begin_question, end=self._end_question
        )
        self._wish = msgspec.structs.replace(wish, approver=self._asker)
        self._screen = Screen(
            clock=self._clock,
            keys=bindings(self),
            history=history,
            completer=PromptCompleter(
                commands=face.commands, offers=self._offers, folder=Path.cwd()
            ),
            live=lambda width: self._shown.live(
                width, working=self.is_working and not self._asker.is_open
            ),
            status=self._status,
            frame=self._shown.frame,
            colours=colours,
        )
        self._pastes = Pastes()
        self._draft = ""
        self._waiting: deque[str | Message] = deque()
        self._more = asyncio.Event()
        self._commands: set[asyncio.Task[None]] = set()
        self._models: tuple[str, ...] = ()
        self._recent: tuple[SessionInfo, ...] = ()
        self._cost = 0.0
        self._leaving = False

    async def run(self) -> int:
        """Until the person leaves; returns the exit status.

        Raises:
            UsageError: no such session, model, provider or toolset.
            SessionBusy: another process is writing it.
        """
        self.session = await self.face.open(self._wish)
        try:
            self._greet()
            work = asyncio.get_running_loop().create_task(self._work())
            work.add_done_callback(self._fallen)
            try:
                status = await self._screen.run()
            finally:
                work.cancel()
                for task in self._commands:
                    task.cancel()
                await asyncio.gather(work, *self._commands, return_exceptions=True)
            if work.done() and not work.cancelled() and (error := work.exception()):
                raise error
            return status
        finally:
            await self.session.close()

    def _fallen(self, work: asyncio.Task[None]) -> None:
        """A failure of ours ends the shell, with the terminal as it should be."""
        if not work.cancelled():
            self._screen.leave(1)

    # -- turns -------------------------------------------------------------------------

    @property
    def is_working(self) -> bool:
        """True while a turn runs."""
        return self.running is not None

    async def _work(self) -> None:
        await self._learn()
        while True:
            while self._waiting:
                await self._turn(self._waiting.popleft())
            self._more.clear()
            await self._more.wait()

    async def _learn(self) -> None:
        """What completion offers; the prompt does not wait for it."""
        with suppress(HermesError):
            self._recent = tuple(await self.face.sessions.list(limit=50))
            self._models = tuple(await self.face.models())

    async def _turn(self, message: str | Message) -> None:
        text = message if isinstance(message, str) else message.text
        self._shown.said(text)
        if isinstance(message, str):
            message, notes = with_files(message, Path(self.session.info.workspace or "."))
            for note in notes:
                self._shown.text(f"  {note}")
        self._shown.begin()
        ticking = asyncio.get_running_loop().create_task(self._tick())
        try:
            async with self.session.run(message) as run:
                self.running = run
                async for event in run:
                    self._shown.show(event)
                    self._screen.touch()
                    if isinstance(event, TurnEnded):
                        self.running = None  # a command that is typed now finds it idle
        finally:
            ticking.cancel()
            self.running = None
            self._leaving = False
        if run.end is not None:
            self._ended(run.end)
        self._screen.touch()

    def _ended(self, end: TurnEnded) -> None:
        self._cost += end.usage.cost or 0.0
        self._shown.queued.clear()
        if end.unsent:  # it came too late for this turn: the next one answers it
            self._waiting.appendleft("\n".join(end.unsent))
        self._more.set()

    async def _tick(self) -> None:
        while True:
            self._screen.touch()
            await self._clock.sleep(SPIN_SECONDS)

    # -- what is typed -----------------------------------------------------------------

    def enter(self, buffer: Buffer) -> None:
        draft = buffer.text
        if not draft.strip():
            return
        if self._asker.is_open and not draft.startswith(("/approve", "/deny")):
            self._asker.take(self._pastes.restore(draft))
            buffer.reset()
            return
        buffer.append_to_history()
        buffer.reset()
        self._leaving = False
        text = self._pastes.restore(draft)
        task = asyncio.get_running_loop().create_task(self._take(text))
        self._commands.add(task)
        task.add_done_callback(self._commands.discard)

    async def _take(self, text: str) -> None:
        said = await self.face.command(self, text)
        if said is None:
            self._say(text)
        elif said:
            self._shown.text(f"\n{one_line(text, self._screen.width - 1)}\n{said}")
        self._screen.touch()

    def _say(self, text: str) -> None:
        """A message: to the turn that runs, or the next one."""
        if self.running is not None and self.running.steer(text):
            self._shown.queued.append(text)
        else:
            self.submit(text)

    def paste(self, buffer: Buffer, text: str) -> None:
        buffer.insert_text(self._pastes.shorten(text))

    def interrupt(self, buffer: Buffer) -> None:
        if self.running is not None and not self._leaving:
            self._leaving = True
            self.running.interrupt(_YOU)
        elif self._leaving:
            self._screen.leave(INTERRUPTED)
        elif buffer.text and not self._asker.is_open:
            buffer.reset()
        else:
            self._leaving = True
            self._shown.text("(Ctrl-C once more leaves)")
        self._screen.touch()

    def escape(self) -> None:
        if self.running is not None:
            self.running.interrupt("you pressed Esc")

    def end(self, buffer: Buffer) -> None:
        if buffer.text:
            buffer.delete()
        else:
            self.leave()

    def show_result(self) -> None:
        self._shown.text(self._shown.last_result())

    def clear(self) -> None:
        self._screen.clear()

    def _begin_question(self, prompt: str) -> None:
        """The input belongs to the question; what was being typed comes back after it."""
        self._draft = self._screen.buffer.text
        self._screen.buffer.reset()
        self._screen.prompt = f"{one_line(prompt, self._screen.width - 8)}: "
        self._screen.touch()

    def _end_question(self) -> None:
        self._screen.prompt = "> "
        self._screen.buffer.text = self._draft
        self._screen.buffer.cursor_position = len(self._draft)
        self._screen.touch()

    # -- SlashContext ------------------------------------------------------------------

    async def switch(self, wish: SessionWish) -> None:
        mode = self.session.status.mode
        opened = await self.face.open(self._wish.onward(wish, mode=mode))
        await self.session.close()
        self.session = opened
        self._cost = 0.0

    def submit(self, message: str | Message) -> None:
        self._waiting.append(message)
        if self.running is not None:
            self._shown.queued.append(message if isinstance(message, str) else message.text)
        self._more.set()

    def leave(self) -> None:
        self._screen.leave(0)

    def answer(self, answer: Answer) -> bool:
        return self._asker.answer(answer)

    def toggle_verbose(self) -> bool:
        self._shown.verbose = not self._shown.verbose
        return self._shown.verbose

    async def edit(self, text: str) -> str:
        return cast("str", await self._screen.lend(lambda: self.face.edit(text)))

    # -- around it ---------------------------------------------------------------------

    def _greet(self) -> None:
        for notice in self.face.notices():
            self._shown.text(notice)
        self._shown.text(f"Hermes with {self.session.model}. /help lists the commands.")
        asked = sum(one.role == "user" and bool(one.text) for one in self.session.history)
        if asked:
            name = self.session.info.title or self.session.info.id
            self._shown.text(
                f"Going on with {name!r} ({asked} question{'s' * (asked > 1)} so far)."
            )

    def goodbye(self) -> str:
        """What to say after leaving; "" where nothing was kept."""
        if not self.session.history:
            return ""
        return f"\nThis was session {self.session.info.id}; `hermes -c` goes on with it.\n"

    def _offers(self, command: str) -> list[tuple[str, str]]:
        match command:
            case "model":
                return [(one, "") for one in self._models]
            case "resume":
                return [(one.id, one.title) for one in self._recent if one.message_count]
            case "approve":
                return [("once", ""), ("session", ""), ("always", "")]
            case _:
                return []

    def _status(self, width: int) -> str:
        status = self.session.status
        parts = [self.session.model]
        if status.context_used:
            share = f" of {_short(status.context_length)}" if status.context_length else ""
            parts.append(f"{_short(status.context_used)}{share} tokens")
        cost = self._cost + (self.session.info.usage.cost or 0.0)
        if cost:
            parts.append(f"${cost:.4f}" if cost < 1 else f"${cost:.2f}")
        if self.is_working:
            parts.append(f"call {self._shown.requests} of {status.max_turns}")
        parts.append("approvals off" if status.mode == "off" else f"approvals {status.mode}")
        if self.is_working:
            parts.append("Esc interrupts")
        return one_line(" · ".join(parts), width - 1)


def _short(count: int) -> str:
    return f"{count / 1000:.0f}k" if count >= 10_000 else f"{count:,}"
