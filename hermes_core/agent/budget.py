"""How many model calls a turn may make; one budget for a parent and its children."""

from __future__ import annotations

from typing import Final

CHILD_TURNS: Final = 50
"""Model calls a child agent may make (config.md: agent.max_turns, children)."""

GRACE_NOTE: Final = (
    "You have used all {limit} model calls of this turn. Do not call tools. Say now, briefly, what "
    "is done, what is not, and what the next step is."
)


class TurnBudget:
    """Counts model calls. A child counts against its own limit and its parent's."""

    def __init__(self, limit: int, *, parent: TurnBudget | None = None) -> None:
        self.limit = limit
        self.used = 0
        self.grace_given = False
        self._parent = parent

    @property
    def left(self) -> int:
        """Calls left, never below 0."""
        own = max(0, self.limit - self.used)
        return own if self._parent is None else min(own, self._parent.left)

    def take(self) -> bool:
        """Use one call; False when none is left."""
        if self.left == 0:
            return False
        self._count(1)
        return True

    def take_grace(self) -> bool:
        """The one call beyond the limit, without tools, to end with words; False the second time."""
        given, self.grace_given = self.grace_given, True
        return not given

    def refund(self) -> None:
        """Give a call back, for a turn that only ran code on the model's behalf."""
        if self.used:
            self._count(-1)

    def child(self, limit: int = CHILD_TURNS) -> TurnBudget:
        """A budget that draws on this one."""
        return TurnBudget(limit, parent=self)

    def _count(self, calls: int) -> None:
        self.used += calls
        if self._parent is not None:
            self._parent._count(calls)
