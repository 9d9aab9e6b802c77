"""Asks the person at the terminal: the approver of the plain face."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hermes_core.agent.cleaning import clean_output
from hermes_core.cli.console import tell
from hermes_core.cli.lines import Lines
from hermes_plugins._approvals import Answer, Choice, Question

_KEYS: Final[dict[str, Choice]] = {
    "y": "once",
    "yes": "once",
    "o": "once",
    "once": "once",
    "s": "session",
    "session": "session",
    "a": "always",
    "always": "always",
}
_LABELS: Final[dict[Choice, str]] = {
    "once": "[y] once",
    "session": "[s] for this session",
    "always": "[a] always",
    "deny": "[n] no, or say why not",
}


class LineApprover:
    """Shows what is about to happen in full and reads one line."""

    can_ask = True

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    async def ask(self, question: Question) -> Answer:
        shown = clean_output(question.shown).replace("\n", "\n    ")
        tell(f"\n{question.tool} wants to:\n\n    {shown}\n\n{_sentence(question.reason)}\n")
        prompt = f"Allow it? {'  '.join(_LABELS[one] for one in question.choices)}: "
        line = await self._lines.read(prompt, fresh=True)
        if line is None:
            raise EOFError("the input has ended")
        word = line.strip()
        choice = _KEYS.get(word.lower())
        if choice is None:
            refusal = "" if word.lower() in ("", "n", "no") else word
            return Answer(choice="deny", reason=refusal)
        return Answer(choice=choice if choice in question.choices else "once")

    async def ask_person(self, question: str, choices: Sequence[str]) -> str:
        """A question of a tool; a number picks a choice, anything else is the answer itself."""
        tell(f"\n{clean_output(question)}\n")
        for number, choice in enumerate(choices, 1):
            tell(f"  {number}. {clean_output(choice)}\n")
        line = (await self._lines.read("Your answer: ", fresh=True) or "").strip()
        if line.isdecimal() and 1 <= int(line) <= len(choices):
            return choices[int(line) - 1]
        return line


def _sentence(reason: str) -> str:
    text = clean_output(reason).strip().rstrip(".")
    return f"It asks because {text}." if text else "It asks to be sure."
