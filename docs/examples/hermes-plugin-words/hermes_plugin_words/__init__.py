"""Words: one tool, which reads a file."""

from __future__ import annotations

import re
from typing import Annotated

from hermes_plugins import Reads, Tool, ToolContext, ToolError, hookimpl, tool


@tool(toolset="words", effects=[Reads("path")], label="path")
async def longest_words(
    context: ToolContext,
    path: Annotated[str, "a text file"],
    count: Annotated[int, "1 to 100"] = 3,
) -> str:
    """The longest words of a text file, the longest first."""
    if not 1 <= count <= 100:
        raise ToolError(f"{count} words cannot be had.", hint="Ask for 1 to 100.")
    text = (await context.environment.read(path)).decode("utf-8", errors="replace")
    words = sorted(set(re.findall(r"\w+", text)), key=lambda word: (-len(word), word))
    return ", ".join(words[:count])


@hookimpl
def hermes_register_tools() -> list[Tool]:
    return [longest_words]
