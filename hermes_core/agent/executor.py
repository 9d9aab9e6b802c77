"""Tool calls: prepare, execute, finalize.

One order for every call: parse -> transform_tool_call -> validate, derive effects -> gate -> execute
-> type check -> redact -> transform_tool_result -> budget and spill -> untrusted fence -> store ->
event -> on. A batch is validated whole before any of it runs; calls that only read run together,
writers when their paths do not overlap; results keep the order of the calls. Arguments travel
encoded: every hook and the handler gets its own copy of exactly the bytes that were judged.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Final, Protocol, cast

import msgspec

from hermes_core.agent.arguments import fit_arguments, parse_arguments
from hermes_core.agent.context import CallContext, CancelFlag, SessionState
from hermes_core.agent.guardrails import Guardrails
from hermes_core.agent.results import ResultBudgets, fence, fit_result
from hermes_core.dispatch import Dispatch
from hermes_core.gate.gate import Gate, Verdict
from hermes_core.registry import Owned, Toolbox
from hermes_core.threads import Threads
from hermes_plugins._approvals import Answer, Approver, Question
from hermes_plugins._clock import Clock
from hermes_plugins._decisions import CallView, ResultView
from hermes_plugins._effects import Effects, resolve_effects
from hermes_plugins._environments import Environment
from hermes_plugins._errors import ToolError
from hermes_plugins._events import (
    ApprovalAsked,
    ApprovalDone,
    Event,
    ToolDone,
    ToolProgress,
    ToolStarted,
)
from hermes_plugins._host import Host
from hermes_plugins._messages import (
    Json,
    Message,
    ResultStatus,
    TextPart,
    ToolCall,
)
from hermes_plugins._store import SessionInfo
from hermes_plugins._tools import ToolResult

PARALLEL_CALLS: Final = 8
"""Calls of one agent that run at once (DESIGN: limits)."""
SELF_BOUNDED_SECONDS: Final = 3600.0
"""The watchdog for tools that bound themselves (reference: clarify waits an hour)."""
GRACE_SECONDS: Final = 3.0
"""How long a cancelled handler may take to give back what it has."""
SUMMARY_CHARS: Final = 100

_encoder = msgspec.json.Encoder(order="sorted")
_log = logging.getLogger("hermes.executor")


class TurnScope(Protocol):
    """What the executor needs from the turn that it works for."""

    session: SessionInfo
    turn: str
    cancelled: CancelFlag
    guardrails: Guardrails
    approver: Approver | None

    async def emit(self, event: Event) -> None:
        """Tell the readers; stamps seq, time and ids."""

    def tell(self, event: Event) -> None:
        """Like `emit`, without waiting: dropped when the readers are far behind."""

    async def keep(self, message: Message) -> None:
        """Store a message and tell the readers."""


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A call that is valid; ``encoded`` are the arguments that will be judged and run."""

    call: ToolCall
    owned: Owned
    encoded: bytes
    effects: Effects
    view: CallView
    notes: tuple[str, ...] = ()


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended, before its text is cut to size."""

    call: ToolCall
    status: ResultStatus
    text: str
    summary: str = ""
    seconds: float = 0.0
    prepared: Prepared | None = None
    meta: dict[str, Json] = {}


class Executor:
    """Runs the tool calls of one session."""

    def __init__(
        self,
        *,
        toolbox: Toolbox,
        environment: Environment,
        dispatch: Dispatch,
        gate: Gate,
        clock: Clock,
        threads: Threads,
        handle: Callable[[str], Host],
        budgets: ResultBudgets,
        redact: Callable[[str], str],
        spill: Callable[[str, str], Awaitable[str]],
        default_timeout: float,
        face: str,
    ) -> None:
        self._toolbox = toolbox
        self._environment = environment
        self._dispatch = dispatch
        self._gate = gate
        self._clock = clock
        self._threads = threads
        self._handle = handle
        self._budgets = budgets
        self._redact = redact
        self._spill = spill
        self._default_timeout = default_timeout
        self._face = face
        self._state = SessionState()

    async def run_batch(
        self, calls: Sequence[ToolCall], problems: Mapping[str, str], scope: TurnScope
    ) -> str:
        """Run the calls of one answer and keep a result for each, in order.

        Returns the reason when a guardrail ends the turn, else "".
        """
        prepared = [await self._prepare(call, problems.get(call.id, ""), scope) for call in calls]
        broken = [one for one in prepared if isinstance(one, Outcome)]
        left = self._budgets.per_turn
        stop = ""
        if broken:
            for one, call in zip(prepared, calls, strict=True):
                outcome = one if isinstance(one, Outcome) else _not_run(call, broken[0])
                left, stop = await self._finalize(outcome, left, stop, scope)
            return stop
        for segment in segments(cast("list[Prepared]", prepared)):
            tasks = await self._start(segment, scope)
            for task in tasks:
                left, stop = await self._finalize(await task, left, stop, scope)
        return stop

    # -- prepare -----------------------------------------------------------------------

    async def _prepare(self, call: ToolCall, problem: str, scope: TurnScope) -> Prepared | Outcome:
        owned = self._toolbox.get(call.name)
        if owned is None:
            known = ", ".join(self._toolbox.names()) or "none"
            return _failed(call, f"There is no tool {call.name!r} here. Tools: {known}.")
        if problem:
            return _failed(call, problem)
        tool = owned.tool
        try:
            arguments = parse_arguments(call.arguments, tool.parameters)
            if self._dispatch.has("hermes_transform_tool_call"):
                arguments = await self._dispatch.transform(
                    "hermes_transform_tool_call",
                    arguments,
                    key="arguments",
                    tool=tool.name,
                    session=scope.session,
                )
            fitted = fit_arguments(arguments, tool.parameters)
        except ToolError as error:
            return _failed(call, str(error))
        encoded = _encoder.encode(fitted.arguments)
        effects = self._resolved(resolve_effects(tool.effects, msgspec.json.decode(encoded)))
        view = CallView(
            id=call.id,
            tool=tool.name,
            toolset=tool.toolset,
            arguments=msgspec.json.decode(encoded),
            effects=effects,
            session=scope.session.id,
            turn=scope.turn,
            workspace=self._environment.workspace,
            face=self._face,
        )
        return Prepared(
            call=call, owned=owned, encoded=encoded, effects=effects, view=view, notes=fitted.notes
        )

    def _resolved(self, effects: Effects) -> Effects:
        """The same effects with canonical paths; a path that cannot be resolved is the worst case."""
        if not (effects.reads or effects.writes):
            return effects
        try:
            return msgspec.structs.replace(
                effects,
                reads=tuple(map(self._environment.resolve, effects.reads)),
                writes=tuple(map(self._environment.resolve, effects.writes)),
            )
        except ToolError:
            return msgspec.structs.replace(effects, unknown=True)

    # -- gate and execute --------------------------------------------------------------

    async def _start(
        self, segment: Sequence[Prepared], scope: TurnScope
    ) -> list[Awaitable[Outcome]]:
        """Judge the calls one after the other, then start those that may run, together."""
        slots = asyncio.Semaphore(PARALLEL_CALLS)
        started: list[Awaitable[Outcome]] = []
        for prepared in segment:
            refused = await self._refused(prepared, scope)
            if refused is not None:
                started.append(_ready(refused))
            elif len(segment) == 1:
                started.append(self._execute(prepared, slots, scope))
            else:
                work = self._execute(prepared, slots, scope)
                started.append(asyncio.get_running_loop().create_task(work))
        return started

    async def _refused(self, prepared: Prepared, scope: TurnScope) -> Outcome | None:
        if scope.cancelled.is_set():
            return _interrupted(prepared)
        name, key = prepared.view.tool, prepared.encoded.decode()
        if text := scope.guardrails.before(name, key):
            return _outcome(prepared, "blocked", text)
        approver = None if scope.approver is None else _Announced(scope, prepared, self._dispatch)
        verdict = await self._gate.judge(_copy(prepared), approver=approver)
        if verdict.allowed:
            return None
        return _outcome(prepared, "blocked", verdict.text, summary=_verdict_line(verdict))

    async def _execute(
        self, prepared: Prepared, slots: asyncio.Semaphore, scope: TurnScope
    ) -> Outcome:
        async with slots:
            if scope.cancelled.is_set():
                return _interrupted(prepared)
            tool = prepared.owned.tool
            arguments = msgspec.json.decode(prepared.encoded)
            await scope.emit(
                ToolStarted(
                    call=prepared.call.id,
                    tool=tool.name,
                    label=_label(tool.label, arguments),
                    arguments=arguments,
                )
            )
            self._dispatch.emit("hermes_on_tool_call", call=_copy(prepared))
            started = self._clock.monotonic()
            flag = CancelFlag(scope.cancelled)
            try:
                outcome = await self._bounded(prepared, flag, scope)
            finally:
                flag.detach()
            seconds = self._clock.monotonic() - started
            return msgspec.structs.replace(outcome, seconds=seconds)

    async def _bounded(self, prepared: Prepared, flag: CancelFlag, scope: TurnScope) -> Outcome:
        """Run the handler under its time limit, and give it a moment when it is cancelled."""
        limit = prepared.owned.tool.timeout or self._default_timeout
        limit = SELF_BOUNDED_SECONDS if limit < 0 else limit
        loop = asyncio.get_running_loop()
        work = loop.create_task(self._invoke(prepared, flag, scope))
        waiter = loop.create_task(flag.wait())
        try:
            async with self._clock.timeout(limit):
                await asyncio.wait({work, waiter}, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            flag.set(f"timed out after {limit:g} s")
            late = await self._last_words(work)
            told = f"\nUntil then it said:\n{late.text}" if late and late.text else ""
            return _outcome(
                prepared, "failed", f"Error (transient): timed out after {limit:g} s.{told}"
            )
        except asyncio.CancelledError:
            flag.set("the turn was cancelled")
            work.cancel()
            raise
        finally:
            waiter.cancel()
        late = work.result() if work.done() else await self._last_words(work)
        if late is None:
            return _interrupted(prepared, flag.reason)
        if flag.is_set() and late.status == "ok":
            return msgspec.structs.replace(late, status="interrupted")
        return late

    async def _last_words(self, work: asyncio.Task[Outcome]) -> Outcome | None:
        try:
            async with self._clock.timeout(GRACE_SECONDS):
                await asyncio.wait({work})
        except TimeoutError:
            work.cancel()  # a worker thread behind it goes on alone; its result is dropped
            return None
        return work.result()

    async def _invoke(self, prepared: Prepared, flag: CancelFlag, scope: TurnScope) -> Outcome:
        """Call the handler; whatever it does becomes an outcome."""
        tool = prepared.owned.tool
        arguments = cast("dict[str, Json]", msgspec.json.decode(prepared.encoded))
        if tool.context_parameter:
            arguments[tool.context_parameter] = self._context(prepared, flag, scope)
        try:
            if inspect.iscoroutinefunction(tool.handler):
                value: object = await tool.handler(**arguments)
            else:
                handler = cast("Callable[..., object]", tool.handler)
                value = await self._threads.run(lambda: handler(**arguments))
                if inspect.isawaitable(value):
                    value = await value
            return _typed(prepared, value)
        except ToolError as error:
            return _outcome(prepared, "failed", f"Error ({error.kind}): {error}")
        except asyncio.CancelledError:
            if flag.is_set():
                return _interrupted(prepared, flag.reason)
            raise
        except (Exception, SystemExit) as error:
            _log.warning("tool %s raised", tool.name, exc_info=error)
            self._dispatch.emit("hermes_on_error", where=f"tool {tool.name}", error=error)
            return _outcome(
                prepared, "failed", f"Error (permanent): {type(error).__name__}: {error}"
            )

    def _context(self, prepared: Prepared, flag: CancelFlag, scope: TurnScope) -> CallContext:
        def progress(text: str) -> None:
            scope.tell(ToolProgress(call=prepared.call.id, text=text))

        async def ask(question: str, choices: Sequence[str]) -> str:
            approver = scope.approver
            if approver is None or not approver.can_ask:
                raise ToolError(
                    "nobody can be asked here.", hint="Decide yourself, and say what you assumed."
                )
            try:
                return await approver.ask_person(question, tuple(choices))
            except EOFError:
                raise ToolError("nobody answered.", hint="Say what you need, and stop.") from None

        return CallContext(
            ids=(scope.session.id, scope.turn, prepared.call.id),
            environment=self._environment,
            clock=self._clock,
            host=self._handle(prepared.owned.plugin),
            cancelled=flag,
            result_chars=self._budgets.per_result,
            state=self._state,
            progress=progress,
            ask=ask,
        )

    # -- finalize ----------------------------------------------------------------------

    async def _finalize(
        self, outcome: Outcome, left: int, stop: str, scope: TurnScope
    ) -> tuple[int, str]:
        """Redact, transform, cut, fence, store, tell. Returns the batch's budget and any stop."""
        prepared = outcome.prepared
        text = self._redact(outcome.text)
        tool = prepared.owned.tool if prepared else None
        if prepared and self._dispatch.has("hermes_transform_tool_result"):
            text = await self._dispatch.transform(
                "hermes_transform_tool_result", text, key="text", call=_copy(prepared)
            )
        warning = ""
        if prepared and outcome.status in ("ok", "failed"):
            finding = scope.guardrails.after(
                tool.name if tool else "",
                prepared.encoded.decode(),
                ok=outcome.status == "ok",
                result=text,
                is_read=prepared.effects.only_reads,
            )
            warning = finding.text
            stop = stop or (finding.text if finding.level == "stop" else "")
        elif outcome.status == "failed":
            finding = scope.guardrails.after(
                outcome.call.name, outcome.call.arguments, ok=False, result=text, is_read=False
            )
            warning = finding.text
            stop = stop or (finding.text if finding.level == "stop" else "")
        own_limit = tool.result_limit if tool else 0
        limit = min(
            own_limit or self._budgets.per_result, self._budgets.per_result, max(left, 2000)
        )
        shown = await fit_result(
            text, limit=limit, spill=lambda whole: self._spill(outcome.call.id, whole)
        )
        body = fence(shown.text, tool.name) if tool and tool.untrusted_output else shown.text
        if notes := "\n".join(filter(None, (*(prepared.notes if prepared else ()), warning))):
            body = f"{body}\n\n[{notes}]"
        message = Message(
            role="tool",
            parts=(TextPart(body),),
            tool_call_id=outcome.call.id,
            tool_name=tool.name if tool else outcome.call.name,
            status=outcome.status,
            meta=outcome.meta,
        )
        await scope.keep(message)
        await scope.emit(
            ToolDone(
                call=outcome.call.id,
                tool=message.tool_name,
                status=outcome.status,
                summary=self._redact(outcome.summary) or _first_line(text),
                seconds=outcome.seconds,
            )
        )
        if prepared and self._dispatch.has("hermes_on_tool_result"):
            self._dispatch.emit(
                "hermes_on_tool_result",
                result=ResultView(
                    call=_copy(prepared),
                    status=outcome.status,
                    raw=text,
                    shown=body,
                    seconds=outcome.seconds,
                ),
            )
        return left - len(body), stop


# -- which calls run together ------------------------------------------------------------


def segments(prepared: Sequence[Prepared]) -> list[list[Prepared]]:
    """Split a batch into runs whose calls may go at once, keeping the order."""
    runs: list[list[Prepared]] = []
    for one in prepared:
        if runs and _may_join(one, runs[-1]):
            runs[-1].append(one)
        else:
            runs.append([one])
    return runs


def _may_join(one: Prepared, run: Sequence[Prepared]) -> bool:
    return all(_scoped(other) for other in (one, *run)) and not any(
        _clash(one.effects, other.effects) for other in run
    )


def _scoped(one: Prepared) -> bool:
    """True for calls that touch only the paths they name, or nothing."""
    effects = one.effects
    return not (one.owned.tool.interactive or effects.runs or effects.sends or effects.unknown)


def _clash(one: Effects, other: Effects) -> bool:
    return _overlap(one.writes, (*other.reads, *other.writes)) or _overlap(other.writes, one.reads)


def _overlap(some: Sequence[str], others: Sequence[str]) -> bool:
    return any(_inside(a, b) or _inside(b, a) for a in some for b in others)


def _inside(path: str, folder: str) -> bool:
    path, folder = path.casefold(), folder.casefold().rstrip("/\\")
    return path == folder or path.startswith((folder + "/", folder + "\\"))


# -- values ------------------------------------------------------------------------------


class _Announced:
    """An approver whose questions and answers are events too."""

    def __init__(self, scope: TurnScope, prepared: Prepared, dispatch: Dispatch) -> None:
        self._scope = scope
        self._prepared = prepared
        self._dispatch = dispatch
        self.can_ask = scope.approver is not None and scope.approver.can_ask

    async def ask(self, question: Question) -> Answer:
        approver = self._scope.approver
        assert approver is not None
        call = self._prepared.call.id
        await self._scope.emit(
            ApprovalAsked(
                call=call, tool=question.tool, reason=question.reason, shown=question.shown
            )
        )
        choice = "timeout"
        try:
            answer = await approver.ask(question)
            choice = answer.choice
        finally:
            self._dispatch.emit(
                "hermes_on_approval", call=_copy(self._prepared), answer=choice, by="person"
            )
        await self._scope.emit(ApprovalDone(call=call, answer=choice, by="person"))
        return answer

    async def ask_person(self, question: str, choices: tuple[str, ...]) -> str:
        approver = self._scope.approver
        assert approver is not None
        return await approver.ask_person(question, choices)


def _copy(prepared: Prepared) -> CallView:
    return msgspec.structs.replace(prepared.view, arguments=msgspec.json.decode(prepared.encoded))


def _typed(prepared: Prepared, value: object) -> Outcome:
    """Turn what a handler returned into an outcome."""
    if isinstance(value, str):
        return _outcome(prepared, "ok", value)
    if isinstance(value, ToolResult):
        kind = f" ({value.kind})" if value.kind else ""
        text = f"Error{kind}: {value.text}" if value.status == "failed" else value.text
        outcome = _outcome(prepared, value.status, text, summary=value.summary)
        return msgspec.structs.replace(outcome, meta=dict(value.meta))
    if value is None:
        return _outcome(prepared, "ok", "(no output)")
    try:
        return _outcome(prepared, "ok", msgspec.json.encode(value).decode())
    except (TypeError, ValueError) as error:
        return _outcome(
            prepared,
            "failed",
            f"Error (permanent): the tool returned {type(value).__name__}, which is not JSON "
            f"({error}).",
        )


def _outcome(prepared: Prepared, status: ResultStatus, text: str, *, summary: str = "") -> Outcome:
    return Outcome(call=prepared.call, status=status, text=text, summary=summary, prepared=prepared)


def _failed(call: ToolCall, text: str) -> Outcome:
    return Outcome(call=call, status="failed", text=f"Error (permanent): {text}")


def _interrupted(prepared: Prepared, reason: str = "") -> Outcome:
    why = f" ({reason})" if reason else ""
    return _outcome(
        prepared, "interrupted", f"Interrupted{why}. What it had begun may have taken effect."
    )


def _not_run(call: ToolCall, broken: Outcome) -> Outcome:
    return Outcome(
        call=call,
        status="cancelled",
        text=f"Not run, because the call {broken.call.name} of the same batch is not valid. "
        "Correct that one and send the calls again.",
    )


def _ready(outcome: Outcome) -> Coroutine[object, object, Outcome]:
    async def ready() -> Outcome:
        return outcome

    return ready()


def _label(name: str, arguments: Mapping[str, Json]) -> str:
    value = arguments.get(name, "") if name else next(iter(arguments.values()), "")
    return _first_line(str(value))


def _first_line(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= SUMMARY_CHARS else line[: SUMMARY_CHARS - 1] + "…"


def _verdict_line(verdict: Verdict) -> str:
    """Why a call was refused, for the person."""
    match verdict.outcome:
        case "floor":
            return f"never allowed: {verdict.reason}"
        case "denied_rule":
            return f"gate.deny forbids it: {verdict.reason}"
        case "policy":
            return f"the policy {verdict.by} says no: {verdict.reason}"
        case "person":
            return f"you said no: {verdict.reason}" if verdict.reason else "you said no"
        case "timeout":
            return f"nobody answered within {verdict.reason} s"
        case "unavailable":
            return f"{verdict.reason}; nobody can be asked here (gate.allow takes a rule for it)"
        case _:
            return verdict.reason
