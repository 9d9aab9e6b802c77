"""The turn that is running: connects `run_turn` to the store, the readers, the hooks and the model.

Implements what the turn (`TurnPorts`), the executor (`TurnScope`) and the model call (`Listener`)
need from outside. One object per turn, made by the session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableSequence, Sequence
from typing import Protocol

import msgspec

from hermes_core.agent.channel import EventChannel
from hermes_core.agent.context import CancelFlag
from hermes_core.agent.executor import Executor
from hermes_core.agent.guardrails import Guardrails
from hermes_core.dispatch import Dispatch
from hermes_core.route.ask import Answer as ModelAnswer
from hermes_core.route.chain import Chain
from hermes_core.route.classify import Failure
from hermes_core.route.retry import RetryPolicy
from hermes_plugins._approvals import Answer, Approver, Question
from hermes_plugins._clock import Clock
from hermes_plugins._dialects import ModelRequest
from hermes_plugins._errors import ProviderError
from hermes_plugins._events import Event, MessageDone, Notice, ReasoningDelta, Retrying, TextDelta
from hermes_plugins._messages import Message, ToolCall, Usage
from hermes_plugins._store import SessionInfo

DRAFT_SECONDS = 1.0
"""How often a growing answer is saved (DESIGN: of a cut answer at most the last second is lost)."""


class Keeper(Protocol):
    """The part of the store that a running turn writes to, bound to its lease."""

    async def append(
        self,
        messages: Sequence[Message],
        *,
        usage: Mapping[str, Usage] | None = None,
        model_calls: int = 0,
        final: bool = False,
        title: str = "",
    ) -> list[int]:
        """Store messages; returns their positions after the commit. ``title`` names a session that
        has no name yet."""

    def save_draft(self, text: str, reasoning: str) -> None:
        """Keep what there is of an answer; does not wait."""

    async def note_model(self, model: str) -> None:
        """Keep the model that the session goes on with."""


class _Interruptible:
    """An approver that is not waited for any longer once the turn is interrupted."""

    def __init__(self, approver: Approver, cancelled: CancelFlag) -> None:
        self._approver = approver
        self._cancelled = cancelled
        self.can_ask = approver.can_ask
        ask_person = getattr(approver, "ask_person", None)
        if ask_person is not None:
            self.ask_person = ask_person  # the executor bounds that one

    async def ask(self, question: Question) -> Answer:
        loop = asyncio.get_running_loop()
        asking = loop.create_task(_awaited(self._approver.ask(question)))
        stopped = loop.create_task(self._cancelled.wait())
        try:
            await asyncio.wait({asking, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                return asking.result()
            return Answer(choice="deny", reason="they interrupted instead of answering")
        finally:
            asking.cancel()
            stopped.cancel()


async def _awaited(answer: Awaitable[Answer]) -> Answer:
    return await answer


class ActiveTurn:
    """One turn, from its first event to its last."""

    def __init__(
        self,
        *,
        turn: str,
        session: SessionInfo,
        chain: Chain,
        history: MutableSequence[Message],
        keeper: Keeper,
        executor: Executor,
        dispatch: Dispatch,
        clock: Clock,
        approver: Approver | None,
        channels: list[EventChannel],
        retry: RetryPolicy,
        redact: Callable[[str], str],
    ) -> None:
        self.turn = turn
        self.session = session
        self.cancelled = CancelFlag()
        self.guardrails = Guardrails()
        self.approver: Approver | None = (
            None if approver is None else _Interruptible(approver, self.cancelled)
        )
        self.channels = channels
        self._chain = chain
        self._history = history
        self._keeper = keeper
        self._executor = executor
        self._dispatch = dispatch
        self._clock = clock
        self._retry = retry
        self._redact = redact
        self._steering: list[str] = []
        self._seq = 0
        self._calls = 0
        self.usage = Usage()
        """Of the last model call."""
        self.spent: dict[str, Usage] = {}
        """What the turn has used so far, by ``provider/model``."""
        self.answered_by = ""
        self._draft: list[str] = []
        self._draft_reasoning: list[str] = []
        self._draft_saved = 0.0
        self._buffered = dispatch.has("hermes_transform_model_response")

    # -- readers -----------------------------------------------------------------------

    async def emit(self, event: Event) -> None:
        """Stamp an event and give it to every reader, waiting for the slowest."""
        event = self._stamped(event)
        for channel in self.channels:
            if not channel.offer(event):
                await channel.put(event)

    def tell(self, event: Event) -> None:
        """Give an event to the readers that have room."""
        event = self._stamped(event)
        for channel in self.channels:
            channel.offer(event)

    def _stamped(self, event: Event) -> Event:
        self._seq += 1
        return msgspec.structs.replace(
            event,
            seq=self._seq,
            time=self._clock.now(),
            session=self.session.id,
            turn=self.turn,
        )

    # -- TurnPorts ---------------------------------------------------------------------

    async def ask(self, request: ModelRequest) -> ModelAnswer:
        if self._dispatch.has("hermes_transform_model_request"):
            request = await self._dispatch.transform(
                "hermes_transform_model_request", request, key="request", session=self.session
            )
        self._calls += 1
        self._draft.clear()
        self._draft_reasoning.clear()
        self._draft_saved = self._clock.monotonic()
        answer = await self._chain.ask(
            request, listener=self, policy=self._retry, token=f"{self.turn}.{self._calls}"
        )
        self.usage = answer.assembled.usage
        self.answered_by = answer.label
        self.spent[answer.label] = self.spent.get(answer.label, Usage()) + self.usage
        return answer

    async def respond(self, message: Message) -> Message:
        if self._buffered:
            message = await self._dispatch.transform(
                "hermes_transform_model_response", message, key="response", session=self.session
            )
            if message.text:
                await self.emit(TextDelta(text=message.text))
        self._dispatch.emit(
            "hermes_on_model_response",
            response=message,
            usage=self.usage,
            session=self.session,
        )
        return message

    async def run_tools(self, calls: Sequence[ToolCall], problems: Mapping[str, str]) -> str:
        return await self._executor.run_batch(calls, problems, self)

    async def keep(self, message: Message) -> None:
        positions = await self._keeper.append([message])
        self._history.append(message)
        await self.emit(MessageDone(message=message, position=positions[-1]))

    def steering(self) -> list[str]:
        taken, self._steering = self._steering, []
        return taken

    def steer(self, text: str) -> None:
        """Text of the person for the next request of this turn."""
        self._steering.append(text)

    # -- Listener ----------------------------------------------------------------------

    def shown(self, text: str, reasoning: str) -> Awaitable[None] | None:
        if text:
            self._draft.append(text)
        if reasoning:
            self._draft_reasoning.append(reasoning)
        now = self._clock.monotonic()
        if now - self._draft_saved >= DRAFT_SECONDS:
            self._draft_saved = now
            self._keeper.save_draft("".join(self._draft), "".join(self._draft_reasoning))
        if reasoning:
            self.tell(ReasoningDelta(text=reasoning))
        if not text or self._buffered:
            return None
        self._seq += 1
        event = TextDelta(
            seq=self._seq,
            time=self._clock.now(),
            session=self.session.id,
            turn=self.turn,
            text=text,
        )
        waiting = [channel for channel in self.channels if not channel.offer(event)]
        return self._wait_for(waiting, event) if waiting else None

    async def _wait_for(self, channels: Sequence[EventChannel], event: Event) -> None:
        for channel in channels:
            await channel.put(event)

    async def failed(self, error: ProviderError, failure: Failure, attempt: int) -> None:
        error.reason = failure.reason
        self._dispatch.emit(
            "hermes_on_model_error", error=error, attempt=attempt, session=self.session
        )

    async def retrying(self, failure: Failure, attempt: int, seconds: float) -> None:
        await self.emit(
            Retrying(
                reason=failure.reason,
                detail=self._redact(failure.user_text),
                attempt=attempt,
                delay=seconds,
            )
        )

    async def told(self, text: str) -> None:
        await self.emit(Notice(text=self._redact(text)))

    def sending(self, request: ModelRequest) -> None:
        if self._dispatch.has("hermes_on_model_request"):
            self._dispatch.emit("hermes_on_model_request", request=request, session=self.session)
