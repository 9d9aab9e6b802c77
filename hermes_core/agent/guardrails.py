"""Notices when a model goes in circles, first with a warning in the result, then by ending the turn.

| what repeats, without a success or a change between | warn from | stop at |
|---|---|---|
| the same call, failing | 2 | 5 |
| one tool, failing with whatever arguments | 3 | 8 |
| a call that only reads, with the same result | 2 | 5 |

A warning is appended to the result that the model reads; the text of a stop becomes the answer.
"""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec

SAME_FAILURE = (2, 5)
TOOL_FAILURES = (3, 8)
SAME_RESULT = (2, 5)


class Finding(msgspec.Struct, frozen=True):
    """What the guardrails say about a call that has ended."""

    level: Literal["ok", "warn", "stop"] = "ok"
    text: str = ""


class Guardrails:
    """The counts of one turn; make a new one for each."""

    def __init__(self) -> None:
        self._failures: dict[str, int] = {}
        self._tool_failures: dict[str, int] = {}
        self._results: dict[str, tuple[str, int]] = {}

    def before(self, name: str, arguments_key: str) -> str | None:
        """Why this call must not run again in this turn, None where it may.

        ``arguments_key`` is the canonical JSON of the arguments (keys sorted).
        """
        call = _signature(name, arguments_key)
        if self._failures.get(call, 0) >= SAME_FAILURE[1]:
            return (
                f"{name} has failed with these arguments {SAME_FAILURE[1]} times; it was not run."
            )
        if self._results.get(call, ("", 0))[1] >= SAME_RESULT[1]:
            return f"{name} has given this same result {SAME_RESULT[1]} times; it was not run."
        return None

    def after(
        self, name: str, arguments_key: str, *, ok: bool, result: str, is_read: bool
    ) -> Finding:
        """Count a call that has ended."""
        call = _signature(name, arguments_key)
        if not ok:
            return self._failed(name, call)
        self._failures.pop(call, None)
        self._tool_failures.pop(name, None)
        return self._read(name, call, _signature("", result)) if is_read else Finding()

    def _failed(self, name: str, call: str) -> Finding:
        same = self._failures[call] = self._failures.get(call, 0) + 1
        any_ = self._tool_failures[name] = self._tool_failures.get(name, 0) + 1
        if same >= SAME_FAILURE[1]:
            return _stop(f"{name} failed {same} times in a row with the same arguments")
        if any_ >= TOOL_FAILURES[1]:
            return _stop(f"{name} failed {any_} times in a row")
        if same >= SAME_FAILURE[0]:
            return Finding(
                "warn",
                f"This same call has failed {same} times. Do not send it unchanged again: mend what "
                "the error names, or go another way.",
            )
        if any_ >= TOOL_FAILURES[0]:
            return Finding(
                "warn",
                f"{name} has failed {any_} times in a row. Read its errors again before the next "
                "call, or use another tool.",
            )
        return Finding()

    def _read(self, name: str, call: str, result: str) -> Finding:
        last, count = self._results.get(call, ("", 0))
        count = count + 1 if last == result else 1
        self._results[call] = (result, count)
        if count >= SAME_RESULT[1]:
            return _stop(f"{name} was called {count} times with the same arguments and result")
        if count >= SAME_RESULT[0]:
            return Finding(
                "warn",
                f"You have this result already: the same call has now given it {count} times. Go on "
                "with it instead of asking again.",
            )
        return Finding()


def _stop(what: str) -> Finding:
    return Finding("stop", f"I stopped because {what}. Tell me how to go on.")


def _signature(name: str, content: str) -> str:
    seed = f"{name}\0{content}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(seed).hexdigest()
