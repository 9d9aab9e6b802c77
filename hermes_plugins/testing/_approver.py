"""A person at the other end: answers what the gate and the tools ask, as the test says."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from hermes_plugins._approvals import Answer, Question


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A question of the gate, as the person read it."""

    tool: str
    shown: str
    reason: str


class FakeApprover:
    """Give it to `hermes` as ``approver``.

    ``answers`` are said to the gate in order, and after the last one it is "deny". ``words`` are the
    answers to `ToolContext.ask`. What was asked is in ``seen`` and ``asked``.
    """

    can_ask = True

    def __init__(
        self,
        *answers: Literal["once", "session", "always", "deny"],
        words: Sequence[str] = (),
        reason: str = "",
    ) -> None:
        self.seen: list[Seen] = []
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self._answers = deque(answers)
        self._words = deque(words)
        self._reason = reason

    async def ask(self, question: Question) -> Answer:
        from hermes_plugins._approvals import Answer

        self.seen.append(Seen(tool=question.tool, shown=question.shown, reason=question.reason))
        choice = self._answers.popleft() if self._answers else "deny"
        return Answer(choice, self._reason if choice == "deny" else "")

    async def ask_person(self, question: str, choices: Sequence[str]) -> str:
        self.asked.append((question, tuple(choices)))
        return self._words.popleft() if self._words else ""
