"""The plan list itself. At most 256 items of 4,000 characters; ids are the model's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hermes_plugins import ToolError

if TYPE_CHECKING:
    from . import Item

MAX_ITEMS = 256
MAX_CHARS = 4000

_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "cancelled": "[-]"}


class Plan:
    """The items of one session, in order."""

    def __init__(self) -> None:
        self.items: dict[str, Item] = {}


def update(plan: Plan, items: Sequence[Item] | None, *, merge: bool) -> str:
    """Replace or merge the list, and return it as text.

    Raises:
        ToolError: too many items, one that is too long, or an id given twice.
    """
    if items is not None:
        ids = [item["id"] for item in items]
        if len(set(ids)) != len(ids):
            raise ToolError("two items have the same id.", hint="Give each item an id of its own.")
        wanted = dict(plan.items) if merge else {}
        wanted.update((item["id"], item) for item in items)
        _check(wanted)
        plan.items = wanted
    return _render(plan)


def _check(items: dict[str, Item]) -> None:
    if len(items) > MAX_ITEMS:
        raise ToolError(f"{len(items)} items; the list holds {MAX_ITEMS}.")
    for item in items.values():
        if len(item["content"]) > MAX_CHARS:
            raise ToolError(f"item {item['id']} is over {MAX_CHARS:,} characters.")


def _render(plan: Plan) -> str:
    if not plan.items:
        return "The list is empty."
    lines = [
        f"{_MARKS[item['status']]} {item['id']}: {item['content']}" for item in plan.items.values()
    ]
    done = sum(item["status"] == "completed" for item in plan.items.values())
    return "\n".join([*lines, f"({done} of {len(lines)} completed)"])
