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
from hermes_core.agent.calls import (
    Outcome,
    Prepared,
    failed_call,
    first_line,
    interrupted_call,
    label_of,
    not_run,
    outcome_of,
    segments,
    typed_outcome,
    verdict_line,
    view_of,
)
from hermes_core.agent.context import CallContext, CancelFlag, SessionState
from hermes_core.agent.guardrails import Finding, Guardrails
from hermes_core.agent.results import ResultBudgets, fence, fit_result
from hermes_core.dispatch import Dispatch
from hermes_core.gate.gate import Gate
from hermes_core.registry import Toolbox
from hermes_core.threads import Threads
from hermes_plugins._approvals import Answer, Approver, Question
from hermes_plugins._clock import Clock
from hermes_plugins._decisions import CallView, ResultView
from hermes_plugins._effects import Effects, resolve_effects
from hermes_plugins._environments import Environment
from hermes_plugins._errors import HermesError, ProviderError, ToolError
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
    TextPart,
    ToolCall,
)
from hermes_plugins._store import SessionInfo

PARALLEL_CALLS: Final = 8
"""Calls of one agent that run at once (DESIGN: limits)."""
SELF_BOUNDED_SECONDS: Final = 3600.0
"""The watchdog for tools that bound themselves (reference: clarify waits an hour)."""
GRACE_SECONDS: Final = 3.0
"""How long a cancelled handler may take to give back what it has."""
SUMMARY_CHARS: Final = 100

LEAST_RESULT_CHARS: Final = 2000
"""What each result of a batch gets, also when the batch's budget is used up."""

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
                outcome = one if isinstance(one, Outcome) else not_run(call, broken[0])
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
            return failed_call(call, f"There is no tool {call.name!r} here. Tools: {known}.")
        if problem:
            return failed_call(call, problem)
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
            return failed_call(call, str(error))
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
            return interrupted_call(prepared)
        name, key = prepared.view.tool, prepared.encoded.decode()
        if text := scope.guardrails.before(name, key):
            return outcome_of(prepared, "blocked", text)
        approver = None if scope.approver is None else _Announced(scope, prepared, self._dispatch)
        verdict = await self._gate.judge(view_of(prepared), approver=approver)
        if verdict.allowed:
            return None
        return outcome_of(prepared, "blocked", verdict.text, summary=verdict_line(verdict))

    async def _execute(
        self, prepared: Prepared, slots: asyncio.Semaphore, scope: TurnScope
    ) -> Outcome:
        async with slots:
            if scope.cancelled.is_set():
                return interrupted_call(prepared)
            tool = prepared.owned.tool
            arguments = msgspec.json.decode(prepared.encoded)
            await scope.emit(
                ToolStarted(
                    call=prepared.call.id,
                    tool=tool.name,
                    label=label_of(tool.label, arguments),
                    arguments=arguments,
                )
            )
            self._dispatch.emit("hermes_on_tool_call", call=view_of(prepared))
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
            return outcome_of(
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
            return interrupted_call(prepared, flag.reason)
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
            return typed_outcome(prepared, value)
        except ToolError as error:
            return outcome_of(prepared, "failed", f"Error ({error.kind}): {error}")
        except HermesError as error:
            kind = "transient" if _may_pass(error) else "permanent"
            return outcome_of(prepared, "failed", f"Error ({kind}): {error}")
        except asyncio.CancelledError:
            if flag.is_set():
                return interrupted_call(prepared, flag.reason)
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # Nobody cancelled this call: something inside it did, and only this call has failed.
            return outcome_of(
                prepared, "failed", "Error (permanent): it was cancelled from inside."
            )
        except (Exception, SystemExit) as error:
            _log.warning("tool %s raised", tool.name, exc_info=error)
            self._dispatch.emit("hermes_on_error", where=f"tool {tool.name}", error=error)
            return outcome_of(
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
        if prepared and self._dispatch.has("hermes_transform_tool_result"):
            text = await self._dispatch.transform(
                "hermes_transform_tool_result", text, key="text", call=view_of(prepared)
            )
        finding = _finding(outcome, text, scope.guardrails)
        if finding.level == "stop":
            stop = stop or finding.text
        body = await self._fitted(outcome, text, left)
        notes = (*(prepared.notes if prepared else ()), finding.text)
        if any(notes):
            body = f"{body}\n\n[{chr(10).join(filter(None, notes))}]"
        name = prepared.view.tool if prepared else outcome.call.name
        await scope.keep(
            Message(
                role="tool",
                parts=(TextPart(body),),
                tool_call_id=outcome.call.id,
                tool_name=name,
                status=outcome.status,
                meta=outcome.meta,
            )
        )
        await scope.emit(
            ToolDone(
                call=outcome.call.id,
                tool=name,
                status=outcome.status,
                summary=self._redact(outcome.summary) or first_line(text),
                seconds=outcome.seconds,
            )
        )
        if prepared and self._dispatch.has("hermes_on_tool_result"):
            result = ResultView(
                call=view_of(prepared),
                status=outcome.status,
                raw=text,
                shown=body,
                seconds=outcome.seconds,
            )
            self._dispatch.emit("hermes_on_tool_result", result=result)
        return left - len(body), stop

    async def _fitted(self, outcome: Outcome, text: str, left: int) -> str:
        """The text cut to the smallest of its budgets, then fenced where strangers wrote it."""
        tool = outcome.prepared.owned.tool if outcome.prepared else None
        most = self._budgets.per_result
        limit = min(tool.result_limit if tool and tool.result_limit else most, most)
        limit = min(limit, max(left, LEAST_RESULT_CHARS))
        shown = await fit_result(
            text, limit=limit, spill=lambda whole: self._spill(outcome.call.id, whole)
        )
        return fence(shown.text, tool.name) if tool and tool.untrusted_output else shown.text


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
                "hermes_on_approval", call=view_of(self._prepared), answer=choice, by="person"
            )
        await self._scope.emit(ApprovalDone(call=call, answer=choice, by="person"))
        return answer

    async def ask_person(self, question: str, choices: tuple[str, ...]) -> str:
        approver = self._scope.approver
        assert approver is not None
        return await approver.ask_person(question, choices)


def _ready(outcome: Outcome) -> Coroutine[object, object, Outcome]:
    async def ready() -> Outcome:
        return outcome

    return ready()


def _finding(outcome: Outcome, text: str, guardrails: Guardrails) -> Finding:
    """What the guardrails say; calls that did not get to run are not counted."""
    if outcome.status not in ("ok", "failed"):
        return Finding()
    prepared = outcome.prepared
    return guardrails.after(
        prepared.view.tool if prepared else outcome.call.name,
        prepared.encoded.decode() if prepared else outcome.call.arguments,
        ok=outcome.status == "ok",
        result=text,
        is_read=prepared is not None and prepared.effects.only_reads,
    )


def _may_pass(error: HermesError) -> bool:
    """Whether the same call may work later: silence, a broken connection, a busy server."""
    if not isinstance(error, ProviderError):
        return False
    return (
        error.reason in ("timeout", "connection")
        or error.status in (408, 429)
        or (error.status >= 500)
    )
