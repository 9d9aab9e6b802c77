"""Asking a person: what a face implements to answer the gate's questions.

A face that cannot ask sets ``can_ask`` to False; then a call that needs a yes is refused at once
instead of waiting for nobody.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

import msgspec

Choice: TypeAlias = Literal["once", "session", "always", "deny"]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a person is asked. ``shown`` is the command or path in full, safe to print."""

    call: str
    tool: str
    reason: str
    shown: str
    choices: tuple[Choice, ...] = ("once", "session", "always", "deny")


class Answer(msgspec.Struct, frozen=True):
    """What they said; ``reason`` in their own words goes to the model."""

    choice: Choice
    reason: str = ""


class Approver(Protocol):
    """A face's way to ask. ``can_ask`` is False where nobody would see the question."""

    can_ask: bool

    async def ask(self, question: Question) -> Answer:
        """Show ``question`` and wait for the answer; the gate sets the time-out.

        Raises:
            EOFError: whoever should answer is gone.
        """

    async def ask_person(self, question: str, choices: tuple[str, ...]) -> str:
        """A question of a tool, such as clarify; returns what they said.

        Raises:
            EOFError: whoever should answer is gone.
        """
