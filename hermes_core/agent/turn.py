"""The turn: ask the model, run what it asks for, until it asks for nothing.

A function over values. It knows neither face nor disk nor vendor: what it needs from outside is
`TurnPorts`. Whether the model asked for tools is the only thing that continues a turn; what ends it
early is the budget, an interruption, a guardrail or a failure, each with a sentence that says so.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence, Sequence
from typing import Final, Protocol

import msgspec

from hermes_core.agent.budget import GRACE_NOTE, TurnBudget
from hermes_core.agent.context import CancelFlag
from hermes_core.route.ask import Answer
from hermes_core.route.assemble import Assembled
from hermes_plugins._dialects import ModelRequest, ToolSpec
from hermes_plugins._events import Event, Outcome, RequestStarted, Steered
from hermes_plugins._messages import Message, TextPart, ToolCall, Usage

STEER_MARK: Final = "[While you were working, the person added:]"

_FINISH_REASONS: Final = {
    "length": (
        "incomplete",
        "The answer was cut at the model's output limit.",
        '`hermes -c -q "go on"` asks for the rest.',
    ),
    "refusal": (
        "refused",
        "The model refused to answer.",
        "Say it differently, or use another model: hermes chat --model PROVIDER/MODEL",
    ),
}


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn works on. ``history`` grows: it is the session's transcript."""

    model: str
    system: str
    tools: tuple[ToolSpec, ...]
    history: MutableSequence[Message]
    budget: TurnBudget
    session_id: str
    cancelled: CancelFlag


class TurnPorts(Protocol):
    """What a turn needs from outside."""

    async def ask(self, request: ModelRequest) -> Answer:
        """One model call, with its retries."""

    async def run_tools(self, calls: Sequence[ToolCall], problems: Mapping[str, str]) -> str:
        """Run a batch and keep its results; the reason when the turn must end."""

    async def keep(self, message: Message) -> None:
        """Store a message, add it to the history and tell the readers."""

    def steering(self) -> list[str]:
        """Text that the person added since the last look."""

    async def emit(self, event: Event) -> None:
        """Tell the readers."""

    async def respond(self, message: Message) -> Message:
        """Let plugins change an answer before it is stored."""


class TurnResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a turn ended."""

    outcome: Outcome
    text: str = ""
    reason: str = ""
    hint: str = ""
    model_calls: int = 0
    tool_calls: int = 0
    usage: Usage = Usage()


class _Tally:
    """What a turn has used so far."""

    def __init__(self) -> None:
        self.model_calls = 0
        self.tool_calls = 0
        self.usage = Usage()

    def result(
        self, outcome: Outcome, text: str, *, reason: str = "", hint: str = ""
    ) -> TurnResult:
        return TurnResult(
            outcome=outcome,
            text=text,
            reason=reason,
            hint=hint,
            model_calls=self.model_calls,
            tool_calls=self.tool_calls,
            usage=self.usage,
        )


async def run_turn(turn: Turn, ports: TurnPorts) -> TurnResult:
    """Answer the last user message of ``turn.history``."""
    tally = _Tally()
    while True:
        is_last = not turn.budget.take()
        if is_last and not turn.budget.take_grace():
            reason = f"The limit of {turn.budget.limit} model calls is reached."
            return tally.result("budget", "", reason=reason, hint="Say `go on` to continue.")
        if is_last:
            note = GRACE_NOTE.format(limit=turn.budget.limit)
            await ports.keep(Message(role="user", added=(note,)))
        tally.model_calls += 1
        await ports.emit(RequestStarted(number=tally.model_calls))
        answer = await ports.ask(_request(turn))
        assembled = answer.assembled
        tally.usage += assembled.usage
        if answer.interrupted or answer.failure is not None:
            return await _broken(turn, ports, tally, answer)
        message = await ports.respond(_message(assembled))
        await ports.keep(message)
        if not message.tool_calls:
            return _ended(tally, assembled, message, is_last=is_last, limit=turn.budget.limit)
        if is_last:
            await _refuse_all(message.tool_calls, ports)
            reason = f"The limit of {turn.budget.limit} model calls is reached."
            return tally.result(
                "budget", message.text, reason=reason, hint="Say `go on` to continue."
            )
        tally.tool_calls += len(message.tool_calls)
        stop = await ports.run_tools(message.tool_calls, assembled.problems)
        if turn.cancelled.is_set():
            return tally.result("interrupted", "", reason=_why(turn))
        if stop:
            await ports.keep(Message(role="assistant", parts=(TextPart(stop),)))
            return tally.result("guardrail", stop, reason=stop)
        for text in ports.steering():
            await ports.keep(Message(role="user", parts=(TextPart(text),), meta={"steer": True}))
            await ports.emit(Steered(text=text))


def _request(turn: Turn) -> ModelRequest:
    return ModelRequest(
        model=turn.model,
        system=turn.system,
        messages=turn.history,
        tools=turn.tools,
        session_id=turn.session_id,
    )


def _message(assembled: Assembled) -> Message:
    meta: dict[str, object] = {}
    if assembled.finish not in ("stop", "tool_calls"):
        meta["finish"] = assembled.finish or "cut"
    return Message(
        role="assistant",
        parts=(*assembled.native, *((TextPart(assembled.text),) if assembled.text else ())),
        tool_calls=assembled.tool_calls,
        reasoning=assembled.reasoning,
        meta=meta,
    )


def _ended(
    tally: _Tally, assembled: Assembled, message: Message, *, is_last: bool, limit: int
) -> TurnResult:
    if assembled.finish in _FINISH_REASONS:
        outcome, reason, hint = _FINISH_REASONS[assembled.finish]
        detail = f" ({assembled.detail})" if assembled.detail else ""
        return tally.result(outcome, message.text, reason=reason + detail, hint=hint)  # type: ignore[arg-type]
    if is_last:
        reason = f"The limit of {limit} model calls is reached."
        return tally.result("budget", message.text, reason=reason, hint="Say `go on` to continue.")
    if not message.text:
        reason = "The model thought, but said nothing."
        return tally.result(
            "incomplete",
            "",
            reason=reason,
            hint="Ask again, or use another model: hermes chat --model PROVIDER/MODEL",
        )
    return tally.result("completed", message.text)


async def _broken(turn: Turn, ports: TurnPorts, tally: _Tally, answer: Answer) -> TurnResult:
    """Keep what there is of the answer, marked, and say what happened."""
    assembled = answer.assembled
    if assembled.text or assembled.reasoning:
        partial = Message(
            role="assistant",
            parts=(TextPart(assembled.text),) if assembled.text else (),
            reasoning=assembled.reasoning,
            status="interrupted",
        )
        await ports.keep(partial)
    if answer.interrupted:
        return tally.result("interrupted", assembled.text, reason=_why(turn))
    assert answer.failure is not None
    outcome: Outcome = "incomplete" if assembled.text else "failed"
    return tally.result(
        outcome, assembled.text, reason=answer.failure.user_text, hint=answer.failure.hint
    )


async def _refuse_all(calls: Sequence[ToolCall], ports: TurnPorts) -> None:
    """Every call gets a result, also those that come after the last request."""
    for call in calls:
        await ports.keep(
            Message(
                role="tool",
                parts=(TextPart("Not run: the limit of model calls of this turn is reached."),),
                tool_call_id=call.id,
                tool_name=call.name,
                status="cancelled",
            )
        )


def _why(turn: Turn) -> str:
    return f"Interrupted: {turn.cancelled.reason or 'stopped'}."
