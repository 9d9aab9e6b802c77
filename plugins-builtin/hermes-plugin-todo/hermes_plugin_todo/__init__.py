"""The todo tool: a plan list of the session. The work stands in ``plan.py``, imported on use."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from hermes_plugins import Pure, Tool, ToolContext, hookimpl, tool


class Item(TypedDict):
    """One step of a plan."""

    id: str
    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"]


@tool(toolset="todo", effects=[Pure()])
def todo(
    context: ToolContext,
    todos: Annotated[list[Item] | None, "omit to read the list"] = None,
    merge: Annotated[bool, "update by id, keep the rest"] = False,
) -> str:
    """Keep a plan for work of three or more steps. One item in_progress at a time."""
    from . import plan

    return plan.update(context.state("todo.plan", plan.Plan), todos, merge=merge)


@hookimpl
def hermes_register_tools() -> list[Tool]:
    """The one tool."""
    return [todo]
