"""Dice: one tool, which touches nothing."""

import random
from typing import Annotated

from hermes_plugins import Pure, Tool, ToolError, hookimpl, tool


@tool(toolset="dice", effects=[Pure()], label="sides")
async def roll(sides: Annotated[int, "2 to 100"] = 6, count: Annotated[int, "1 to 20"] = 1) -> str:
    """Roll dice and add them up."""
    if not (2 <= sides <= 100 and 1 <= count <= 20):
        raise ToolError("no such dice.", hint="2 to 100 sides, 1 to 20 dice.")
    rolled = [random.randint(1, sides) for _ in range(count)]
    return f"{' + '.join(map(str, rolled))} = {sum(rolled)}"


@hookimpl
def hermes_register_tools() -> list[Tool]:
    return [roll]
