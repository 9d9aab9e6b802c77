"""Answering: in each conversation one turn after the other, several conversations side by side.

A worker lives as long as its conversation has something to answer; what waits, waits on disk. A turn
that a crash cut off is not simply run again: its answer may be in the session already, and its tools
may have done something.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from hermes_core.gateway.delivery import Courier, answer_drafts, beginning, note_draft
from hermes_core.gateway.sessions import OpenSessions, is_shared
from hermes_core.gateway.supervisor import attempted, failure_of, one_line, pause, wait_for
from hermes_core.store.mailbox import Mailbox, Received
from hermes_plugins._errors import HermesError, SessionBusy
from hermes_plugins._events import ToolDone, TurnEnded
from hermes_plugins._store import StoredMessage

if TYPE_CHECKING:
    from hermes_core.agent.agent import Run, Session
    from hermes_core.runtime import Runtime

STOPPED: Final = "/stop"
INTERRUPT_SECONDS: Final = 5.0
"""What interrupted turns get to end."""

_CUT_OFF = (
    "I was cut off while I worked on {!r}. Some of it may be done already: say so and I look what is"
    " missing, and go on."
)
_BUSY = "This conversation is open in another program ({}). I answer when it is free."
_NOBODY_TO_ASK = "({} was not run: nobody can be asked here, so what needs a yes is a no.)"

_log = logging.getLogger("hermes.gateway")


class Workers:
    """The workers of a gateway."""

    def __init__(
        self,
        runtime: Runtime,
        *,
        sessions: OpenSessions,
        mailbox: Mailbox,
        courier: Callable[[str], Courier | None],
        at_once: int,
    ) -> None:
        self._runtime = runtime
        self._clock = runtime.clock
        self._sessions = sessions
        self._mailbox = mailbox
        self._courier = courier
        self._slots = asyncio.Semaphore(at_once)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._woken: set[str] = set()
        self._runs: dict[str, Run] = {}
        self._draining = False

    def __len__(self) -> int:
        return len(self._tasks)

    def wake(self, conversation: str) -> None:
        """There may be something to answer."""
        if self._draining:
            return  # it is on disk, and answered after the next start
        self._woken.add(conversation)
        if conversation not in self._tasks:
            task = asyncio.get_running_loop().create_task(self._work(conversation))
            self._tasks[conversation] = task

    def interrupt(self, conversation: str) -> bool:
        """End the turn that runs in a conversation; False when none does."""
        run = self._runs.get(conversation)
        if run is not None:
            run.interrupt(STOPPED)
        return run is not None

    async def drain(self, seconds: float) -> None:
        """Begin nothing more; let turns that run end, at most that long, then interrupt them."""
        self._draining = True
        for conversation, task in self._tasks.items():
            if conversation not in self._runs:
                task.cancel()
        for left in (seconds, INTERRUPT_SECONDS):
            tasks = set(self._tasks.values())
            if not tasks or await wait_for(self._clock, tasks, left):
                return
            for run in self._runs.values():
                run.interrupt("the gateway was stopped")
        for task in self._tasks.values():
            task.cancel()

    async def _work(self, conversation: str) -> None:
        try:
            failure = await failure_of(self._answer_all(conversation))
            if failure is not None:
                _log.error("a conversation stopped: %s", one_line(failure), exc_info=failure)
        finally:
            del self._tasks[conversation]

    async def _answer_all(self, conversation: str) -> None:
        busy = 0
        while not self._draining:
            self._woken.discard(conversation)
            received = await self._mailbox.next(conversation)
            if received is None:
                if conversation in self._woken:
                    continue
                return
            async with self._slots:
                outcome = await attempted(self._answer(received))
            if isinstance(outcome, SessionBusy):
                busy += 1
                await self._post_busy(received, outcome)
                await self._clock.sleep(min(30.0, pause(busy, 0.0)))
            elif isinstance(outcome, Exception):
                _log.error("a message was not answered", exc_info=outcome)
                await self._finish(received, f"I could not answer this: {one_line(outcome)}")

    async def _answer(self, received: Received) -> None:
        conversation, message = received.conversation, received.message
        if message.text.strip().casefold() in ("/new", "!new"):
            await self._sessions.forget(conversation)
            await self._finish(received, "A new session begins with your next message.")
            return
        if received.running:
            text = recovered(received, await self._messages_of(received))
            if text:
                await self._finish(received, text)
                return
        session = await self._sessions.take(conversation, face=message.platform)
        try:
            end, blocked = await self._turn(session, received)
        finally:
            self._sessions.give_back(conversation)
        if end is not None and not (self._draining and end.outcome == "interrupted"):
            await self._finish(received, answer_text(end, blocked))

    async def _turn(
        self, session: Session, received: Received
    ) -> tuple[TurnEnded | None, Sequence[str]]:
        info = await self._runtime.store.get(session.info.id)
        position = info.message_count if info is not None else 0
        await self._mailbox.begin(received.key, session=session.info.id, position=position)
        blocked: dict[str, None] = {}
        conversation = received.conversation
        async with session.run(_said(received)) as run:
            self._runs[conversation] = run
            try:
                async for event in run:
                    if isinstance(event, ToolDone) and event.status == "blocked":
                        blocked[event.tool] = None
            finally:
                del self._runs[conversation]
        return run.end, tuple(blocked)

    async def _finish(self, received: Received, text: str) -> None:
        message = received.message
        courier = self._courier(message.platform)
        redacted = self._runtime.redactor.redact(text)
        if courier is None:
            raise HermesError(f"the platform {message.platform} is not running.")
        drafts = answer_drafts(received, redacted, courier.limits)
        await self._mailbox.answer(received.key, drafts, time=self._clock.now())
        courier.wake()

    async def _post_busy(self, received: Received, busy: SessionBusy) -> None:
        """Told once a message: the id is the same every time."""
        note = note_draft(received.message, _BUSY.format(busy.holder), ident=f"{received.key}.busy")
        await self._mailbox.post([note], time=self._clock.now())
        if courier := self._courier(received.message.platform):
            courier.wake()

    async def _messages_of(self, received: Received) -> Sequence[StoredMessage]:
        return await self._runtime.store.messages(received.session, after=received.position)


def recovered(received: Received, stored: Sequence[StoredMessage]) -> str:
    """What to say for a message whose turn a crash cut off; "" when the turn can be run again.

    ``stored`` is what the session got since the turn began. A whole answer is the answer. Where tools
    were asked for nothing is repeated: the person is told.
    """
    messages = [one.message for one in stored]
    if not messages or messages[0].role != "user" or messages[0].text != _said(received):
        return ""
    ends = [number for number, one in enumerate(messages) if one.role == "user" and number]
    turn = messages[1 : ends[0] if ends else None]
    if turn and turn[-1].role == "assistant":
        last = turn[-1]
        if last.status == "ok" and not last.tool_calls and last.text:
            return last.text
    if any(one.role == "tool" or one.tool_calls for one in turn):
        return _CUT_OFF.format(beginning(received.message.text))
    return ""


def answer_text(end: TurnEnded, blocked: Sequence[str]) -> str:
    """What the person is told of a turn."""
    parts = [end.text.strip("\n")]
    parts += [_NOBODY_TO_ASK.format(tool) for tool in blocked]
    if end.outcome not in ("completed", "guardrail"):
        parts += [" ".join(filter(None, (end.reason, end.hint))) or end.outcome]
    return "\n\n".join(filter(None, parts)) or "(The model gave no answer.)"


def _said(received: Received) -> str:
    """The message as the model reads it; in a session that a group shares, with who said it."""
    message = received.message
    if not is_shared(received.conversation):
        return message.text
    return f"{message.name or message.sender}: {message.text}"
