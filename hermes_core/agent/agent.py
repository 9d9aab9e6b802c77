"""A session and its runs: the object that faces hold.

``session.run(message)`` is a handle, not a generator: entering it starts the turn as one task of the
session, iterating it reads the events, leaving it interrupts the turn and waits for its end. Task
groups inside async generators would cancel the reader instead (PEP 789).
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from types import TracebackType

import msgspec

from hermes_core.agent.active import ActiveTurn, Keeper
from hermes_core.agent.budget import TurnBudget
from hermes_core.agent.channel import EventBatches, EventChannel
from hermes_core.agent.cleaning import clean_input
from hermes_core.agent.executor import Executor
from hermes_core.agent.title import title_of
from hermes_core.agent.turn import Turn, TurnResult, run_turn
from hermes_core.dispatch import Dispatch
from hermes_core.gate.gate import Gate, Mode
from hermes_core.route.ask import Route
from hermes_core.route.chain import Chain
from hermes_core.route.retry import RetryPolicy
from hermes_core.store.repair import closing
from hermes_plugins._approvals import Approver
from hermes_plugins._clock import Clock
from hermes_plugins._dialects import ToolSpec
from hermes_plugins._environments import Environment
from hermes_plugins._errors import HermesError, UsageError
from hermes_plugins._events import Event, Notice, TurnEnded, TurnStarted
from hermes_plugins._faces import SessionStatus
from hermes_plugins._messages import Message, Part, TextPart, ToolCall, Usage, user_message
from hermes_plugins._store import SessionInfo

_log = logging.getLogger("hermes.agent")


class SessionParts(msgspec.Struct, frozen=True, kw_only=True):
    """What a session is put together from, by the composition root."""

    info: SessionInfo
    chain: Chain
    system: str
    tools: tuple[ToolSpec, ...]
    history: list[Message]
    keeper: Keeper
    executor: Executor
    gate: Gate
    environment: Environment
    dispatch: Dispatch
    clock: Clock
    max_turns: int
    retry: RetryPolicy
    redact: Callable[[str], str]
    release: Callable[[], Awaitable[None]]
    approver: Approver | None = None
    notices: tuple[str, ...] = ()


class Session:
    """A conversation with its tools, open for writing in this process."""

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self._active: Run | None = None
        self._subscribers: list[EventChannel] = []

    @property
    def info(self) -> SessionInfo:
        """Id, title, model, folder."""
        return self._parts.info

    @property
    def history(self) -> tuple[Message, ...]:
        """The messages so far."""
        return tuple(self._parts.history)

    @property
    def system(self) -> str:
        """The system prompt that was built when the session began."""
        return self._parts.system

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools as the model sees them."""
        return self._parts.tools

    @property
    def model(self) -> str:
        """``provider/model``."""
        return self._parts.chain.route.label

    @property
    def status(self) -> SessionStatus:
        """What a status line tells."""
        parts = self._parts
        return SessionStatus(
            mode=parts.gate.mode,
            max_turns=parts.max_turns,
            context_length=parts.chain.route.model.context_length,
            context_used=self._active.context_used if self._active is not None else 0,
        )

    def set_mode(self, mode: str) -> None:
        """Another approvals mode from the next call on.

        Raises:
            UsageError: there is no such mode.
        """
        try:
            self._parts.gate.set_mode(msgspec.convert(mode, Mode))
        except msgspec.ValidationError:
            raise UsageError(
                f"there is no approvals mode {mode!r}.", hint="There is: manual, smart, off."
            ) from None

    async def use(self, route: Route) -> None:
        """Go on with another model; the prompt and the tools stay as they are.

        Raises:
            UsageError: a turn is still running.
        """
        if self._active is not None and not self._active.done:
            raise UsageError("the model is still working.", hint="/stop interrupts it.")
        await self._parts.keeper.note_model(route.label)
        info = msgspec.structs.replace(self._parts.info, model=route.label)
        self._parts = msgspec.structs.replace(
            self._parts, chain=self._parts.chain.with_route(route), info=info
        )

    def run(self, message: str | Message, *, max_turns: int = 0) -> Run:
        """A turn that answers ``message``; enter it to start.

        Raises:
            UsageError: a turn of this session is still running.
        """
        if self._active is not None and not self._active.done:
            raise UsageError(
                "this session is still working on a message.", hint="Interrupt it first."
            )
        self._active = Run(self._parts, message, self._subscribers, max_turns=max_turns)
        return self._active

    def subscribe(self) -> EventChannel:
        """A second reader of every event from now on; call ``abandon()`` on it to leave."""
        channel = EventChannel()
        self._subscribers.append(channel)
        return channel

    async def close(self) -> None:
        """Interrupt what runs, end what the session started, give the lease back."""
        if self._active is not None:
            await self._active.stop("the session was closed")
        self._parts.dispatch.emit("hermes_on_session_end", session=self.info)
        for channel in self._subscribers:
            channel.close()
        await self._parts.environment.close()
        await self._parts.release()


class Run:
    """The handle of one turn."""

    def __init__(
        self,
        parts: SessionParts,
        message: str | Message,
        subscribers: list[EventChannel],
        *,
        max_turns: int,
    ) -> None:
        self._parts = parts
        self._message = message
        self._channel = EventChannel()
        self._subscribers = subscribers
        self._budget = TurnBudget(max_turns or parts.max_turns)
        self._task: asyncio.Task[None] | None = None
        self._active: ActiveTurn | None = None
        self._early: list[str] = []
        self._closing = False
        self._announced = False
        self.end: TurnEnded | None = None
        """The last event, once there is one."""

    @property
    def done(self) -> bool:
        """True when the turn is over."""
        return self._task is not None and self._task.done()

    @property
    def context_used(self) -> int:
        """Tokens of the last request and its answer, as the provider counted them."""
        used = self._active.usage if self._active is not None else Usage()
        return used.input + used.output

    async def __aenter__(self) -> Run:
        self._task = asyncio.get_running_loop().create_task(self._work())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._channel.abandon()
        await self.stop("the reader left")

    def __aiter__(self) -> Run:
        return self

    async def __anext__(self) -> Event:
        return await self._channel.__anext__()

    def interrupt(self, reason: str) -> None:
        """Stop: the stream is dropped, tools are told, what there is of the answer is kept."""
        if self._active is not None:
            self._active.cancelled.set(reason)
        else:
            self._early.append(reason)

    def steer(self, text: str) -> bool:
        """Say something to the model while it works; it reads it with the next request.

        False when the turn is over already. What is taken but comes too late for the last request
        is given back as ``unsent`` of the last event.
        """
        if self._active is None or self._closing:
            return False
        self._active.steer(clean_input(text).text)
        return True

    async def stop(self, reason: str) -> None:
        """Interrupt and wait until the turn has ended."""
        if self._task is None or self._task.done():
            return
        self.interrupt(reason)
        await asyncio.wait({self._task})

    async def _work(self) -> None:
        parts = self._parts
        channels = [self._channel, *self._subscribers]
        if parts.dispatch.has("hermes_on_events"):
            emit = partial(parts.dispatch.emit, "hermes_on_events")
            channels.append(EventBatches(lambda batch: emit(events=batch, session=parts.info)))
        active = ActiveTurn(
            turn=secrets.token_hex(4),
            session=parts.info,
            chain=parts.chain,
            history=parts.history,
            keeper=parts.keeper,
            executor=parts.executor,
            dispatch=parts.dispatch,
            clock=parts.clock,
            approver=parts.approver,
            channels=channels,
            retry=parts.retry,
            redact=parts.redact,
        )
        self._active = active
        parts.chain.begin()
        for reason in self._early:
            active.cancelled.set(reason)
        started = parts.clock.monotonic()
        try:
            result = await self._result(active)
            await self._finish(active, result, parts.clock.monotonic() - started)
        finally:
            self._channel.close()

    async def _result(self, active: ActiveTurn) -> TurnResult:
        """Run the turn; whatever goes wrong becomes how it ended."""
        parts = self._parts
        try:
            await self._opening(active)
            turn = Turn(
                model=parts.chain.route.model.id,
                system=parts.system,
                tools=parts.tools,
                history=parts.history,
                budget=self._budget,
                session_id=parts.info.id,
                cancelled=active.cancelled,
            )
            return await run_turn(turn, active)
        except asyncio.CancelledError:
            active.cancelled.set("the program is stopping")
            return TurnResult(outcome="interrupted", reason="Interrupted: the program is stopping.")
        except Exception as error:
            parts.dispatch.emit("hermes_on_error", where="turn", error=error)
            return _failed(error)

    async def _opening(self, active: ActiveTurn) -> None:
        """Clean, announce and store the person's message."""
        parts = self._parts
        message, notes = _cleaned(self._message)
        if parts.dispatch.has("hermes_transform_turn"):
            added = await parts.dispatch.transform(
                "hermes_transform_turn",
                tuple(message.added),
                key="added",
                message=message,
                session=parts.info,
            )
            message = msgspec.structs.replace(message, added=tuple(added))
        self._announced = True
        parts.dispatch.emit(
            "hermes_on_turn_start", message=message, session=parts.info, turn=active.turn
        )
        await active.emit(TurnStarted(message=message, model=parts.chain.route.label))
        for note in (*parts.notices, *notes):
            await active.emit(Notice(text=note))
        for call in _unanswered(parts.history):  # a turn that failed between call and result
            await active.keep(closing(call))
        await active.keep(message)

    async def _finish(self, active: ActiveTurn, result: TurnResult, seconds: float) -> None:
        """Store what the turn cost with a full commit, and tell its end, once."""
        parts = self._parts
        self._closing = True
        unsent = tuple(active.steering())
        try:
            await parts.keeper.append(
                [],
                usage=active.spent or {parts.chain.route.label: result.usage},
                model_calls=result.model_calls,
                final=True,
                title=title_of(parts.history),
            )
        except Exception as error:  # a turn that began ends with its last event, whatever happens
            if result.outcome == "completed":
                result = _failed(error)
        end = TurnEnded(
            time=parts.clock.now(),
            session=parts.info.id,
            turn=active.turn,
            outcome=result.outcome,
            text=result.text,
            reason=parts.redact(result.reason),
            hint=result.hint,
            model_calls=result.model_calls,
            tool_calls=result.tool_calls,
            usage=result.usage,
            model=active.answered_by or parts.chain.route.label,
            seconds=seconds,
            unsent=unsent,
        )
        self.end = end
        if self._announced:
            parts.dispatch.emit("hermes_on_turn_end", end=end, session=parts.info)
        await active.emit(end)


def _cleaned(message: str | Message) -> tuple[Message, tuple[str, ...]]:
    """The message with its text fit to be stored, and notes for the person."""
    if isinstance(message, str):
        cleaned = clean_input(message)
        return user_message(cleaned.text), cleaned.notes
    notes: list[str] = []
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            cleaned = clean_input(part.text)
            notes += cleaned.notes
            part = TextPart(cleaned.text)
        parts.append(part)
    return msgspec.structs.replace(message, parts=tuple(parts)), tuple(notes)


def _failed(error: Exception) -> TurnResult:
    """How a turn ended that an exception ended."""
    if isinstance(error, HermesError):
        return TurnResult(outcome="failed", reason=error.message, hint=error.hint)
    _log.error("the turn failed", exc_info=error)
    reason = f"Internal error: {type(error).__name__}: {error}"
    return TurnResult(outcome="failed", reason=reason, hint="logs/hermes.log has the details.")


def _unanswered(history: Sequence[Message]) -> list[ToolCall]:
    """The calls at the end of a history that have no result."""
    answered: set[str] = set()
    for message in reversed(history):
        if message.role != "tool":
            return [call for call in message.tool_calls if call.id not in answered]
        answered.add(message.tool_call_id)
    return []
