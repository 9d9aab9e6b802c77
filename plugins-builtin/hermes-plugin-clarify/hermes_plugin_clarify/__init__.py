"""The clarify tool: one question to the person, in the middle of a turn."""

from __future__ import annotations

from typing import Annotated

from hermes_plugins import Pure, Tool, ToolContext, ToolError, hookimpl, tool

MAX_CHOICES = 4
"""As many as a line face and a chat's buttons show well; a free answer is always possible too."""


@tool(toolset="clarify", effects=[Pure()], label="question", interactive=True, timeout=3600.0)
async def clarify(
    context: ToolContext,
    question: str,
    choices: Annotated[list[str] | None, "up to 4; the person may also answer freely"] = None,
) -> str:
    """Ask the person when you cannot go on without knowing. Not for what you can find out yourself."""
    asked = question.strip()
    offered = list(dict.fromkeys(choice.strip() for choice in choices or () if choice.strip()))
    if not asked:
        raise ToolError("the question is empty.", hint="Ask one clear question.")
    if len(offered) > MAX_CHOICES:
        raise ToolError(f"{len(offered)} choices; at most {MAX_CHOICES}.", hint="Offer fewer.")
    answer = (await context.ask(asked, offered)).strip()
    if not answer:
        raise ToolError(
            "the person gave an empty answer.",
            hint="Do not ask again: go on as you judge best, and say what you assumed.",
        )
    return f"The person answered: {answer}"


@hookimpl
def hermes_register_tools() -> list[Tool]:
    """The one tool."""
    return [clarify]
