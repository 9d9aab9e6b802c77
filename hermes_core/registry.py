"""The tools of one session, by every name the model may use for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import msgspec

from hermes_plugins._dialects import ToolSpec
from hermes_plugins._tools import Tool

AVAILABLE_SECONDS = 30.0
"""How long an ``available()`` answer is kept (reference: registry rules)."""


class Owned(msgspec.Struct, frozen=True):
    """A tool and the plugin that offers it."""

    tool: Tool
    plugin: str


class Toolbox:
    """Looks tools up by name or alias; what is not in it does not exist for the session."""

    def __init__(self, owned: Iterable[Owned]) -> None:
        self._owned: dict[str, Owned] = {}
        self._aliases: dict[str, str] = {}
        for one in sorted(owned, key=lambda item: item.tool.name):
            self._owned[one.tool.name] = one
            for alias in one.tool.aliases:
                self._aliases[alias] = one.tool.name

    def __len__(self) -> int:
        return len(self._owned)

    def names(self) -> tuple[str, ...]:
        """Names, sorted."""
        return tuple(self._owned)

    def get(self, name: str) -> Owned | None:
        """The tool of that name or alias."""
        return self._owned.get(name) or self._owned.get(self._aliases.get(name, ""))

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model sees them, in a fixed order."""
        return tuple(
            ToolSpec(
                name=one.tool.name,
                description=one.tool.description,
                parameters=one.tool.parameters,
            )
            for one in self._owned.values()
        )


def permitted(
    owned: Iterable[Owned], *, allowed: Collection[str], blocked: Collection[str]
) -> list[Owned]:
    """Leave out what ``tools.allowed`` and ``tools.blocked`` forbid, by name or alias."""
    kept = []
    for one in owned:
        names = {one.tool.name, *one.tool.aliases}
        if names & set(blocked) or (not names & set(allowed) and "all" not in allowed):
            continue
        kept.append(one)
    return kept


class Availability:
    """Asks tools whether they can be used now, and remembers the answer for 30 seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._answers: dict[str, tuple[float, str]] = {}

    def reason(self, tool: Tool) -> str:
        """ "" or why the tool cannot be used; a probe that raises is a reason too."""
        if tool.available is None:
            return ""
        asked, answer = self._answers.get(tool.name, (float("-inf"), ""))
        if self._now() - asked < AVAILABLE_SECONDS:
            return answer
        try:
            answer = tool.available()
        except Exception as error:
            answer = f"its check failed ({type(error).__name__}: {error})"
        self._answers[tool.name] = (self._now(), answer)
        return answer
