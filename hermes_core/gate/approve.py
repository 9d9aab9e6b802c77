"""Questions to a person, and what they said before.

An answer reaches exactly as far as its word: once is this call, session is the same thing in the
same session, always is a rule that is kept. A rule never covers a command with shell operators.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from hermes_core.gate.scan import INVISIBLE
from hermes_core.patterns import lazy
from hermes_plugins._approvals import Choice
from hermes_plugins._errors import HermesError

_OPERATORS = lazy(r"[\n\r;&|<>`$]")
_CONTROLS = lazy(f"[\x00-\x08\x0b-\x1f\x7f-\x9f]|{INVISIBLE.pattern}|[\u200c\u200d]")


class Target(msgspec.Struct, frozen=True):
    """One thing that a call wants leave for: ``kind`` of effect, and the command, path or place."""

    kind: str
    text: str


class Subject(msgspec.Struct, frozen=True):
    """What an approval is for. ``policies`` are the ids of those that asked."""

    tool: str
    targets: tuple[Target, ...]
    policies: tuple[str, ...] = ()

    def rules(self) -> tuple[str, ...]:
        """The rules of ``gate.allow`` that say exactly this, or none where rules cannot."""
        if self.policies or any(_has_operators(target) for target in self.targets):
            return ()
        return tuple(
            _literal(target.text)
            if target.kind == "runs"
            else f"tool:{self.tool} {_literal(target.text)}"
            for target in self.targets
        )


class Approvals:
    """What was allowed before: by ``gate.allow``, and by answers of session and always."""

    def __init__(
        self,
        allow: Sequence[str] = (),
        *,
        save: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        self._allow = list(allow)
        self._save = save
        self._sessions: dict[str, set[Subject]] = {}

    def covers(self, subject: Subject, session: str) -> str:
        """By what ``subject`` is allowed already, or ""."""
        if subject in self._sessions.get(session, ()):
            return "an answer in this session"
        if subject.policies or not subject.targets:
            return ""
        found = [self._rule(subject.tool, target) for target in subject.targets]
        return f"gate.allow: {found[0]}" if all(found) else ""

    def choices(self, subject: Subject) -> tuple[Choice, ...]:
        """The answers that can be kept for ``subject``."""
        if self._save is None or not subject.rules():
            return ("once", "session", "deny")
        return ("once", "session", "always", "deny")

    async def remember(self, subject: Subject, session: str, choice: Choice) -> str:
        """Keep an answer as far as its word reaches; returns why it could not be saved, or ""."""
        if choice in ("session", "always"):
            self._sessions.setdefault(session, set()).add(subject)
        if choice != "always" or self._save is None:
            return ""
        for rule in subject.rules():
            self._allow.append(rule)
            try:
                await self._save(rule)
            except (OSError, HermesError) as error:
                return f"it holds for this process only: {error}"
        return ""

    def forget(self, session: str) -> None:
        """Drop what was answered for one session."""
        self._sessions.pop(session, None)

    def _rule(self, tool: str, target: Target) -> str:
        if _has_operators(target):
            return ""
        return next((rule for rule in self._allow if rule_matches(rule, tool, target)), "")


def rule_matches(rule: str, tool: str, target: Target) -> bool:
    """Whether ``rule`` (``GLOB`` for commands, ``tool:NAME`` or ``tool:NAME GLOB``) covers it."""
    if rule.startswith("tool:"):
        name, _, pattern = rule.removeprefix("tool:").partition(" ")
        return fnmatch.fnmatchcase(tool, name) and fnmatch.fnmatchcase(target.text, pattern or "*")
    return target.kind == "runs" and fnmatch.fnmatchcase(target.text.strip(), rule)


def visible(text: str) -> str:
    """``text`` with control and invisible characters spelled out; lines stay lines."""
    return _CONTROLS.sub(lambda match: ascii(match[0])[1:-1], text)


def _has_operators(target: Target) -> bool:
    return target.kind == "runs" and _OPERATORS.search(target.text.strip()) is not None


def _literal(text: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", text.strip())
