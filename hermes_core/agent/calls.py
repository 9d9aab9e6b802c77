"""Tool calls as values: prepared, ended, and which of a batch may run together. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from hermes_core.gate.gate import Verdict
from hermes_core.registry import Owned
from hermes_plugins._decisions import CallView
from hermes_plugins._effects import Effects
from hermes_plugins._messages import Json, ResultStatus, ToolCall
from hermes_plugins._tools import ToolResult

SUMMARY_CHARS: Final = 100


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


def view_of(prepared: Prepared) -> CallView:
    return msgspec.structs.replace(prepared.view, arguments=msgspec.json.decode(prepared.encoded))


def typed_outcome(prepared: Prepared, value: object) -> Outcome:
    """Turn what a handler returned into an outcome."""
    if isinstance(value, str):
        return outcome_of(prepared, "ok", value)
    if isinstance(value, ToolResult):
        kind = f" ({value.kind})" if value.kind else ""
        text = f"Error{kind}: {value.text}" if value.status == "failed" else value.text
        outcome = outcome_of(prepared, value.status, text, summary=value.summary)
        return msgspec.structs.replace(outcome, meta=dict(value.meta))
    if value is None:
        return outcome_of(prepared, "ok", "(no output)")
    try:
        return outcome_of(prepared, "ok", msgspec.json.encode(value).decode())
    except (TypeError, ValueError) as error:
        return outcome_of(
            prepared,
            "failed",
            f"Error (permanent): the tool returned {type(value).__name__}, which is not JSON "
            f"({error}).",
        )


def outcome_of(
    prepared: Prepared, status: ResultStatus, text: str, *, summary: str = ""
) -> Outcome:
    return Outcome(call=prepared.call, status=status, text=text, summary=summary, prepared=prepared)


def failed_call(call: ToolCall, text: str) -> Outcome:
    return Outcome(call=call, status="failed", text=f"Error (permanent): {text}")


def interrupted_call(prepared: Prepared, reason: str = "") -> Outcome:
    why = f" ({reason})" if reason else ""
    return outcome_of(
        prepared, "interrupted", f"Interrupted{why}. What it had begun may have taken effect."
    )


def not_run(call: ToolCall, broken: Outcome) -> Outcome:
    return Outcome(
        call=call,
        status="cancelled",
        text=f"Not run, because the call {broken.call.name} of the same batch is not valid. "
        "Correct that one and send the calls again.",
    )


def label_of(name: str, arguments: Mapping[str, Json]) -> str:
    value = arguments.get(name, "") if name else next(iter(arguments.values()), "")
    return first_line(str(value))


def first_line(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= SUMMARY_CHARS else line[: SUMMARY_CHARS - 1] + "…"


def verdict_line(verdict: Verdict) -> str:
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
            rule = (
                "no rule answers a policy"
                if verdict.by.startswith("policy")
                else "gate.allow takes a rule for it"
            )
            return f"{verdict.reason}; nobody can be asked here ({rule})"
        case _:
            return verdict.reason
