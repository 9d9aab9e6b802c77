"""Asks the person at the terminal: the approver of the plain face."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hermes_core.agent.cleaning import clean_output
from hermes_core.cli.lines import Lines
from hermes_core.gate.approve import Answer, Question

_KEYS = {
    "y": "once",
    "yes": "once",
    "o": "once",
    "once": "once",
    "s": "session",
    "session": "session",
    "a": "always",
    "always": "always",
}


class LineApprover:
    """Shows what is about to happen in full and reads one line."""

    can_ask = True

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    async def ask(self, question: Question) -> Answer:
        sys.stderr.write(
            f"\n{question.tool} wants to:\n    {clean_output(question.shown)}\n"
            f"Asking because: {clean_output(question.reason)}\n"
        )
        line = await self._lines.read(
            "Allow? [y] once, [s] session, [a] always, [n] no (or say why not): "
        )
        if line is None:
            return Answer(choice="deny", reason="")
        word = line.strip()
        choice = _KEYS.get(word.lower())
        if choice in question.choices:
            return Answer(choice=choice)
        refusal = "" if word.lower() in ("", "n", "no") else word
        return Answer(choice="deny", reason=refusal)

    async def ask_person(self, question: str, choices: Sequence[str]) -> str:
        """A question of a tool; a number picks a choice, anything else is the answer itself."""
        sys.stderr.write(f"\n{clean_output(question)}\n")
        for number, choice in enumerate(choices, 1):
            sys.stderr.write(f"  {number}. {clean_output(choice)}\n")
        line = (await self._lines.read("Your answer: ") or "").strip()
        if line.isdigit() and 1 <= int(line) <= len(choices):
            return choices[int(line) - 1]
        return line
