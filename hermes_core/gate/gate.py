"""The gate: one judgement for every tool call, on the final arguments.

In this order, and no later step undoes an earlier no: the hard floor, the operator's deny list, the
policies, the risk of the effects, what was approved before, the person. Called by the executor; it
runs nothing itself. A call whose effects are unknown is the most dangerous kind.
"""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from hermes_core.gate import commands
from hermes_core.gate.approve import Approvals, Subject, Target, rule_matches, visible
from hermes_core.gate.audit import Audit
from hermes_core.gate.commands import CommandRisk
from hermes_core.gate.paths import ProtectedPaths
from hermes_core.gate.redact import redact
from hermes_core.gate.urls import host_risk
from hermes_plugins._approvals import Answer, Approver, Question
from hermes_plugins._clock import Clock
from hermes_plugins._decisions import Ask, CallView, Decision, Deny

if TYPE_CHECKING:
    from hermes_core.config_schema import GateSettings

Outcome: TypeAlias = Literal[
    "allowed", "floor", "denied_rule", "policy", "person", "timeout", "unavailable", "blocked"
]
Mode: TypeAlias = Literal["manual", "smart", "off"]
Policies: TypeAlias = Callable[[CallView], Awaitable[Sequence[tuple[str, Decision]]]]
Judge: TypeAlias = Callable[[Question], Awaitable[bool]]
"""A model's opinion in mode ``smart``: True lets the call run once, False leaves it to the person."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """May the call run? ``text`` is what the model reads where not; ``by`` says who decided.

    ``by`` of an allowed call: ``effects``, ``mode off``, ``model``, ``person``, or the earlier answer.
    """

    allowed: bool
    outcome: Outcome
    text: str = ""
    by: str = ""
    reason: str = ""


class _Risk(msgspec.Struct, frozen=True):
    """What one effect of a call amounts to. A ``denied`` one is not open to anybody's answer."""

    target: Target
    reason: str
    denied: bool = False


class Gate:
    """Judges calls. One per host; approvals of a session go by the session's id."""

    def __init__(
        self,
        *,
        settings: GateSettings,
        policies: Policies,
        paths: ProtectedPaths,
        approvals: Approvals,
        clock: Clock,
        audit: Audit | None = None,
        scratch: str = "",
        judge_model: Judge | None = None,
        redactor: Callable[[str], str] = redact,
    ) -> None:
        self._settings = settings
        self._policies = policies
        self._paths = paths
        self._approvals = approvals
        self._clock = clock
        self._audit = audit
        self._scratch = os.path.realpath(scratch) if scratch else ""
        self._judge_model = judge_model
        self._redact = redactor
        self._asking: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    @property
    def mode(self) -> Mode:
        """Who is asked: manual, smart or off."""
        return self._settings.mode

    def set_mode(self, mode: Mode) -> None:
        """Another mode from the next call on."""
        self._settings = msgspec.structs.replace(self._settings, mode=mode)

    async def judge(self, call: CallView, *, approver: Approver | None) -> Verdict:
        """Decide whether ``call`` may run, asking ``approver`` where a person has to say so."""
        verdict = await self._decide(call, approver)
        if self._audit is not None:
            self._audit.record(call, verdict)
        return verdict

    async def _decide(self, call: CallView, approver: Approver | None) -> Verdict:
        lines = [
            commands.assess(line, workspace=call.workspace, paths=self._paths)
            for line in call.effects.runs
        ]
        if forbidden := next((line.reason for line in lines if line.level == "floor"), ""):
            return _refused("floor", by="floor", reason=forbidden)
        if rule := self._denied_by(call, lines):
            return _refused("denied_rule", by=f"gate.deny: {rule}", reason=rule)
        decisions = await self._policies(call)
        for policy, decision in decisions:
            if isinstance(decision, Deny):
                return _refused("policy", by=policy, reason=decision.reason)
        asked = [(name, found.reason) for name, found in decisions if isinstance(found, Ask)]
        risks = list(self._risks(call, lines))
        if denied := next((risk for risk in risks if risk.denied), None):
            return _refused("blocked", by=denied.target.kind, reason=denied.reason)
        if not asked and not risks:
            return _allowed("effects")
        return await self._settle(call, approver, asked=asked, risks=risks)

    def _denied_by(self, call: CallView, lines: list[CommandRisk]) -> str:
        """The first rule of ``gate.deny`` that fits the call, in any form of its commands."""
        effects = call.effects
        forms = [Target("runs", " ".join(line.split())) for line in effects.runs]
        forms += [Target("runs", form) for line in lines for form in (*line.argvs, *line.commands)]
        other = (*effects.writes, *effects.sends, *effects.fetches, *effects.reads)
        targets = [Target(t.kind, t.text.lower()) for t in forms]
        targets += [Target("", text.lower()) for text in (*effects.runs, *other, "")]
        tool = call.tool.lower()
        for rule in self._settings.deny:
            if any(rule_matches(rule.lower(), tool, target) for target in targets):
                return rule
        return ""

    def _risks(self, call: CallView, lines: list[CommandRisk]) -> Iterable[_Risk]:
        """What about the effects is not plainly harmless."""
        effects = call.effects
        if effects.unknown:
            arguments = msgspec.json.encode(call.arguments, order="deterministic").decode()
            yield _Risk(Target("unknown", arguments), "it does not say what it touches")
        for path in effects.reads:
            if reason := self._paths.read_reason(path):
                yield _Risk(Target("reads", path), f"{path} may not be read: {reason}", denied=True)
        for path in effects.writes:
            yield from self._write_risk(call, path)
        for command, line in zip(effects.runs, lines, strict=True):
            yield from self._run_risk(command, line)
        for place in effects.fetches:
            match host_risk(place):
                case "metadata":
                    reason = f"{place} hands out credentials of the machine"
                    yield _Risk(Target("fetches", place), reason, denied=True)
                case "private":
                    yield _Risk(Target("fetches", place), f"{place} is not on the public internet")
                case "invalid":
                    yield _Risk(Target("fetches", place), f"{place} is not a web address")
        for place in effects.sends:
            yield _Risk(Target("sends", place), f"it sends something to {place}")

    def _write_risk(self, call: CallView, path: str) -> Iterable[_Risk]:
        target = Target("writes", path)
        if reason := self._paths.write_reason(path):
            yield _Risk(target, f"{path} may not be changed: {reason}", denied=True)
        elif ".git" in path.replace("\\", "/").lower().split("/"):
            yield _Risk(target, f"{path} decides what git runs")
        elif not self._paths.inside(path, call.workspace) and not self._is_scratch(call, path):
            yield _Risk(target, f"{path} is outside the workspace {call.workspace}")

    def _run_risk(self, command: str, line: CommandRisk) -> Iterable[_Risk]:
        target = Target("runs", command)
        for path, removing in [(p, False) for p in line.writes] + [(p, True) for p in line.removes]:
            if reason := self._paths.own_reason(path, removing=removing):
                yield _Risk(target, f"{path} may not be changed: {reason}", denied=True)
        if line.level == "harmless":
            return
        if self._settings.mode == "off" and not commands.parser_available():
            reason = (
                "without the shell parser only plainly harmless commands run in mode off; "
                f"the owner can install it: {commands.INSTALL_LINE}"
            )
            yield _Risk(target, reason, denied=True)
        yield _Risk(target, line.reason)

    def _is_scratch(self, call: CallView, path: str) -> bool:
        """The session's own temporary folder: its last part may not be a link to elsewhere."""
        folder = os.path.join(self._scratch, call.session) if self._scratch and call.session else ""
        return bool(folder) and not os.path.islink(folder) and self._paths.inside(path, folder)

    async def _settle(
        self,
        call: CallView,
        approver: Approver | None,
        *,
        asked: list[tuple[str, str]],
        risks: list[_Risk],
    ) -> Verdict:
        """Nothing forbids the call and something asks: earlier answers, the mode, the person."""
        if self._settings.mode == "off" and not asked:
            return _allowed("mode off")
        targets = tuple(dict.fromkeys(risk.target for risk in risks)) or _all_targets(call)
        policies = tuple(dict.fromkeys(name for name, _ in asked))
        subject = Subject(call.tool, targets, policies)
        wished = [f"the policy {name} asks: {reason}" for name, reason in asked]
        reasons = dict.fromkeys([*wished, *(risk.reason for risk in risks)])
        question = Question(
            call=call.id,
            tool=call.tool,
            reason=visible(self._redact("; ".join(reasons))),
            shown=visible(self._redact("\n".join(target.text for target in targets))),
            choices=self._approvals.choices(subject),
        )
        lock = self._asking.get(call.session) or self._asking.setdefault(
            call.session, asyncio.Lock()
        )
        async with lock:  # one question at a time, so that each has its own minute
            if by := self._approvals.covers(subject, call.session):
                return _allowed(by)
            return await self._ask(call, approver, question=question, subject=subject)

    async def _ask(
        self, call: CallView, approver: Approver | None, *, question: Question, subject: Subject
    ) -> Verdict:
        smart = self._settings.mode == "smart" and not subject.policies
        if smart and self._judge_model is not None and await self._judge_model(question):
            return _allowed("model", question.reason)
        if approver is None or not approver.can_ask:
            if call.face == "cron" and self._settings.cron == "allow" and not subject.policies:
                return _allowed("gate.cron", question.reason)
            by = f"policy {', '.join(subject.policies)}" if subject.policies else "gate"
            return _refused("unavailable", by=by, reason=question.reason)
        try:
            async with self._clock.timeout(self._settings.timeout):
                answer = await approver.ask(question)
        except TimeoutError:
            return _refused("timeout", by="gate", reason=f"{self._settings.timeout:g}")
        except (EOFError, OSError):
            return _refused("unavailable", by="gate", reason=question.reason)
        return await self._answered(call, answer, question=question, subject=subject)

    async def _answered(
        self, call: CallView, answer: Answer, *, question: Question, subject: Subject
    ) -> Verdict:
        if answer.choice == "deny":
            return _refused("person", by="person", reason=answer.reason)
        choice = answer.choice if answer.choice in question.choices else "once"
        unsaved = await self._approvals.remember(subject, call.session, choice)
        return _allowed("person", f"{choice}; {unsaved}" if unsaved else choice)


def _all_targets(call: CallView) -> tuple[Target, ...]:
    effects = call.effects
    found = [
        Target(kind, text)
        for kind in ("runs", "writes", "sends", "fetches", "reads")
        for text in getattr(effects, kind)
    ]
    arguments = msgspec.json.encode(call.arguments, order="deterministic").decode()
    return tuple(found) or (Target("unknown", arguments),)


def _allowed(by: str, reason: str = "") -> Verdict:
    return Verdict(allowed=True, outcome="allowed", by=by, reason=reason)


_STOP = (
    "This is not yours to get around: do not repeat it, reword it, or reach the same end by another "
    "tool or path."
)
_TEXTS: dict[Outcome, str] = {
    "floor": (
        "BLOCKED, always: {reason}. No setting and no approval lets this run. {stop} If the person "
        "wants it, they run it themselves."
    ),
    "denied_rule": "BLOCKED by the owner's rule {reason!r} (gate.deny). {stop}",
    "policy": "BLOCKED by the policy {by}: {reason}. {stop}",
    "person": "BLOCKED: the person said no.{said} {stop} Stop here and wait for their word.",
    "timeout": (
        "BLOCKED: nobody answered within {reason} seconds, and silence is not consent. {stop} Say "
        "what you wanted to do and why, and wait."
    ),
    "unavailable": (
        "BLOCKED: this needs a person's yes ({reason}), and nobody can be asked here. {stop} Say "
        "what is left undone and why."
    ),
    "blocked": "BLOCKED: {reason}. {stop}",
}


def _refused(outcome: Outcome, *, by: str, reason: str) -> Verdict:
    reason = reason.rstrip(".")
    said = f" Their reason: {reason}." if reason else ""
    text = _TEXTS[outcome].format(reason=reason, by=by, stop=_STOP, said=said)
    return Verdict(allowed=False, outcome=outcome, text=text, by=by, reason=reason)
