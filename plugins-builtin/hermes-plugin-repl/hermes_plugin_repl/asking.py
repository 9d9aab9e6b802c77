"""Questions of the gate and of tools, answered in the input."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from hermes_plugins import Answer, Choice, Question

from .cleaning import safe

_KEYS: Final[dict[str, Choice]] = {
    "y": "once",
    "yes": "once",
    "o": "once",
    "once": "once",
    "s": "session",
    "session": "session",
    "a": "always",
    "always": "always",
    "n": "deny",
    "no": "deny",
}
_LABELS: Final[dict[Choice, str]] = {
    "once": "[y] once",
    "session": "[s] for this session",
    "always": "[a] always",
    "deny": "[n] no, or say why not",
}


class Asker:
    """Implements the kit's `Approver`: shows a question above and waits for a line of the input.

    ``show`` puts text above; ``begin`` (with the prompt, and
    what may be answered) and ``end`` tell the face that the input belongs to a question.
    """

    can_ask = True

    def __init__(
        self,
        *,
        show: Callable[[str], None],
        begin: Callable[[str, str], None],
        end: Callable[[], None],
    ) -> None:
        self._show = show
        self._begin = begin
        self._end = end
        self._line: asyncio.Future[str | Answer] | None = None
        self._is_gate = False

    @property
    def is_open(self) -> bool:
        """True while a question waits for its answer."""
        return self._line is not None and not self._line.done()

    def take(self, line: str) -> bool:
        """Answer with a line that was typed; an empty one is no answer."""
        if self._line is None or self._line.done() or not line.strip():
            return False
        self._line.set_result(line.strip())
        return True

    def answer(self, answer: Answer) -> bool:
        """Answer the gate's question; False where none is open."""
        if self._line is None or self._line.done() or not self._is_gate:
            return False
        self._line.set_result(answer)
        return True

    async def ask(self, question: Question) -> Answer:
        shown = safe(question.shown).replace("\n", "\n    ")
        reason = safe(question.reason).strip().rstrip(".")
        why = f"It asks because {reason}." if reason else "It asks to be sure."
        self._show(f"\n{question.tool} wants to:\n\n    {shown}\n\n{why}\n")
        labels = "  ".join(_LABELS[one] for one in question.choices)
        said = await self._wait("Allow it?", labels, is_gate=True)
        if isinstance(said, Answer):
            return said
        choice = _KEYS.get(said.lower())
        if choice is None:
            return Answer("deny", said)
        return Answer(choice if choice in question.choices else "once")

    async def ask_person(self, question: str, choices: Sequence[str]) -> str:
        """A number picks a choice, anything else is the answer itself."""
        listed = "".join(f"  {number}. {safe(one)}\n" for number, one in enumerate(choices, 1))
        self._show(f"\n{safe(question)}\n{listed}")
        said = await self._wait("Your answer", "", is_gate=False)
        if isinstance(said, str) and said.isdecimal() and 1 <= int(said) <= len(choices):
            return choices[int(said) - 1]
        return said if isinstance(said, str) else ""

    async def _wait(self, prompt: str, choices: str, *, is_gate: bool) -> str | Answer:
        self._line = asyncio.get_running_loop().create_future()
        self._is_gate = is_gate
        self._begin(prompt, choices)
        try:
            return await self._line
        finally:
            self._line = None
            self._end()
