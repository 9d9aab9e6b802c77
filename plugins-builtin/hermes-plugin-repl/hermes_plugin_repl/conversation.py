"""One conversation at the terminal: what is typed, the turn that runs, and what waits for it.

Implements the kit's `SlashContext` for commands and `keys.Driver` for the keys.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Mapping
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
    TextPart,
    TurnEnded,
)

from .asking import Asker
from .cleaning import columns, one_line
from .completing import PromptCompleter
from .drafting import Draft, Pastes
from .images import NotAnImage
from .keys import bindings
from .screen import Screen
from .showing import SPIN_SECONDS, Display, Shown, in_pieces
from .skins import Palette, colours_of, find_skin
from .status import Facts, status_line

if TYPE_CHECKING:
    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.history import History

INTERRUPTED: Final = 130
HISTORY_CHARS: Final = 4_000
"""An input that is longer is kept with the marks of what was pasted, not with the texts."""
_YOU: Final = "you pressed Ctrl-C"


class Conversation:
    """Talks until the person leaves."""

    _screen: Screen
    session: FaceSession

    def __init__(self, face: FaceHost, wish: SessionWish, *, history: History) -> None:
        self.face = face
        self.running: RunHandle | None = None
        self._clock = face.host.clock
        self._environ: Mapping[str, str] = face.host.child_environment()
        display = msgspec.convert(face.display, Display)
        skin, self._skin_note = find_skin(display.skin, face.host.paths.home / "skins")
        palette = Palette(
            skin,
            colours_of(
                no_color=bool(self._environ.get("NO_COLOR")),
                term=self._environ.get("TERM", ""),
                colorterm=self._environ.get("COLORTERM", ""),
            ),
        )
        self._shown = Shown(
            add=lambda text: self._screen.add(text),
            touch=lambda: self._screen.touch(),
            width=lambda: self._screen.width,
            clock=self._clock,
            palette=palette,
            display=display,
        )
        self._asker = Asker(
            show=self._shown.text, begin=self._begin_question, end=self._end_question
        )
        self._wish = msgspec.structs.replace(wish, approver=self._asker)
        self._history = history
        self._screen = Screen(
            clock=self._clock,
            keys=bindings(self),
            history=history,
            completer=PromptCompleter(
                commands=face.commands, offers=self._offers, folder=Path.cwd()
            ),
            live=self._live,
            status=self._status,
            frame=self._shown.frame,
            palette=palette,
        )
        self._pastes = Pastes()
        self._draft = ""
        self._waiting: deque[str | Message] = deque()
        self._more = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._models: tuple[str, ...] = ()
        self._recent: tuple[SessionInfo, ...] = ()
        self._cost = 0.0
        self._leaving = False
        self._fault: BaseException | None = None

    async def run(self) -> int:
        """Until the person leaves; returns the exit status.

        Raises:
            UsageError: no such session, model, provider or toolset.
            SessionBusy: another process is writing it.
        """
        self.session = await self.face.open(self._wish)
        loop = asyncio.get_running_loop()
        before = loop.get_exception_handler()
        loop.set_exception_handler(self._unhandled)
        try:
            self._greet()
            self._begin(self._work())
            try:
                status = await self._screen.run()
            finally:
                running = tuple(self._tasks)
                for task in running:
                    task.cancel()
                await asyncio.gather(*running, return_exceptions=True)
            if self._fault is not None:
                raise self._fault
            return status
        finally:
            loop.set_exception_handler(before)
            await self.session.close()

    def _begin(self, work: Coroutine[object, object, None]) -> None:
        """Do it beside what is typed; a failure of ours ends the shell, the terminal as it should be."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended_task)

    def _ended_task(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fall(error)

    def _unhandled(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """What a key or a redraw raised; anything else that asyncio tells is for the log."""
        error = context.get("exception")
        if isinstance(error, BaseException) and not {"task", "future"} & context.keys():
            self._fall(error)
        else:
            self.face.host.log.warning("%s", context.get("message"), exc_info=error)  # type: ignore[arg-type]

    def _fall(self, error: BaseException) -> None:
        self._fault = self._fault or error
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
        self._shown.said(_typed(message))
        if isinstance(message, str):
            draft = self._compose(message)
            for note in draft.notes:
                self._shown.text(f"  {note}", "status")
            message = draft.message
        self._shown.begin()
        self._begin(asyncio.to_thread(self._shown.prepare))  # while the model thinks
        ticking = asyncio.get_running_loop().create_task(self._tick())
        try:
            async with self.session.run(message) as run:
                self.running = run
                async for event in run:
                    for piece in in_pieces(event):
                        self._shown.show(piece)
                        self._screen.touch()
                        while self._shown.is_behind:
                            await self._screen.next_frame()
                    if isinstance(event, TurnEnded):
                        self.running = None  # a command that is typed now finds it idle
        finally:
            ticking.cancel()
            self.running = None
            self._leaving = False
        if run.end is not None:
            self._cost += run.end.usage.cost or 0.0
        late = list(self._shown.steering)
        self._shown.steering.clear()
        if late:  # too late for this turn: the next one answers it
            self._waiting.appendleft("\n".join(late))
        self._screen.touch()

    async def _tick(self) -> None:
        while True:
            self._screen.touch()
            await self._clock.sleep(SPIN_SECONDS)

    # -- what is typed -----------------------------------------------------------------

    def enter(self, buffer: Buffer) -> None:
        draft = buffer.text
        if not draft.strip():
            return
        text = self._pastes.restore(draft)
        buffer.reset()
        if self._asker.is_open and not draft.startswith(("/approve", "/deny")):
            self._asker.take(text)
            return
        self._remember(draft if len(text) > HISTORY_CHARS else text)
        self._leaving = False
        self._begin(self._take(text))

    def _remember(self, text: str) -> None:
        """For the next sessions too; a full disk is no reason to stop."""
        text = text.encode("utf-8", "replace").decode()
        if text not in self._history.get_strings()[-1:]:
            with suppress(OSError):
                self._history.append_string(text)

    async def _take(self, text: str) -> None:
        said = await self.face.command(self, text)
        if said is None:
            self._say(text)
        elif said:
            self._shown.text(f"\n> {one_line(text, self._screen.width - 3)}", "status")
            self._shown.text(said)
        self._screen.touch()

    def _say(self, text: str) -> None:
        """A message: to the turn that runs, or, with an image or when nothing runs, the next one."""
        draft = self._compose(text) if self.running is not None else None
        if (
            draft is not None
            and not draft.has_image
            and self.running is not None
            and self.running.steer(draft.message.text)
        ):
            self._shown.steering.append(text)
        else:
            self.submit(text)

    def _compose(self, text: str) -> Draft:
        return self._pastes.compose(text, Path(self.session.info.workspace or "."))

    def paste(self, buffer: Buffer, text: str) -> None:
        """Some terminals paste nothing where the clipboard holds an image."""
        if not text:
            self._begin(self._paste_image(buffer, is_asked=False))
            return
        try:
            buffer.insert_text(self._pastes.take(text))
        except NotAnImage as error:
            self._shown.text(f"({error})", "warning")
            buffer.insert_text(self._pastes.shorten(text) if len(text) < HISTORY_CHARS else "")

    def paste_image(self, buffer: Buffer) -> None:
        self._begin(self._paste_image(buffer, is_asked=True))

    async def _paste_image(self, buffer: Buffer, *, is_asked: bool) -> None:
        from .clipboard import clipboard_image

        try:
            image = await asyncio.to_thread(clipboard_image, self._environ)
        except NotAnImage as error:
            if is_asked:
                self._shown.text(f"({error})", "warning")
        else:
            buffer.insert_text(self._pastes.add_image(image))
        self._screen.touch()

    def interrupt(self, buffer: Buffer) -> None:
        if self.running is not None and not self._leaving:
            self._leaving = True
            self.running.interrupt(_YOU)
        elif self.running is None and buffer.text and not self._asker.is_open:
            self._leaving = False
            buffer.reset()
        elif self._leaving:
            self._screen.leave(INTERRUPTED)
        else:
            self._leaving = True
            self._shown.text("(Ctrl-C once more leaves)", "status")
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
        self._shown.show_result()

    def clear(self) -> None:
        self._screen.clear()

    def _begin_question(self, prompt: str, choices: str) -> None:
        """The input belongs to the question; what was being typed comes back after it."""
        self._draft = self._screen.buffer.text
        self._screen.buffer.reset()
        whole = f"{prompt} {choices}".strip()
        if columns(whole) > self._screen.width - 12:  # there has to be room for the answer
            self._shown.text("  " + choices.replace("  ", "\n  "))
            whole = prompt
        end = " " if whole.endswith("?") else ": "
        self._screen.prompt = one_line(whole, self._screen.width - 8) + end
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
        with suppress(HermesError):
            self._recent = tuple(await self.face.sessions.list(limit=50))

    def submit(self, message: str | Message) -> None:
        self._waiting.append(message)
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
        for notice in filter(None, (*self.face.notices(), self._skin_note)):
            self._shown.text(notice, "warning")
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
            case "provider":
                return [(one, "") for one in sorted({one.split("/")[0] for one in self._models})]
            case "resume":
                return [(one.id, one.title) for one in self._recent if one.message_count]
            case "approve":
                return [("once", ""), ("session", ""), ("always", "")]
            case _:
                return []

    def _live(self, width: int) -> str:
        rows = self._shown.live(width, working=self.is_working and not self._asker.is_open)
        waits = [*self._shown.steering, *map(_typed, self._waiting)] if self.is_working else []
        return "\n".join(filter(None, (rows, self._shown.queued(waits, width))))

    def _status(self, width: int) -> StyleAndTextTuples:
        facts = Facts(
            model=self.session.model,
            status=self.session.status,
            cost=self._cost + (self.session.info.usage.cost or 0.0),
            call=self._shown.requests,
            is_working=self.is_working,
        )
        return status_line(facts, width)


def _typed(message: str | Message) -> str:
    """What the person wrote, without the files that came along."""
    if isinstance(message, str):
        return message
    first = message.parts[0] if message.parts else None
    return first.text if isinstance(first, TextPart) else message.text
