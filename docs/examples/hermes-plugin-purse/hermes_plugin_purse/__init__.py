"""A tool set and a policy in one: a purse of coins, and a question before many are taken."""

from __future__ import annotations

from typing import Annotated

from hermes_plugins import (
    Allow,
    Ask,
    CallView,
    ConfigSection,
    Decision,
    Host,
    Json,
    Meta,
    Pure,
    Section,
    Tool,
    ToolContext,
    ToolError,
    hookimpl,
    tool,
    update_record,
)


class Settings(Section, frozen=True, kw_only=True):
    """Section ``plugins.purse``."""

    coins: Annotated[int, Meta(ge=0, description="coins in a new purse")] = 20
    ask_above: Annotated[
        int, Meta(ge=0, description="ask before more is taken", extra={"project": True})
    ] = 5


@tool(toolset="purse", label="what", effects=[Pure()])
async def purse_take(
    context: ToolContext, coins: Annotated[int, "1 or more"], what: Annotated[str, "what for"]
) -> str:
    """Take coins out of the person's purse."""
    full = context.host.section(Settings).coins

    def take(kept: Json) -> int:
        left = full if kept is None else int(str(kept))
        if not 0 < coins <= left:
            raise ToolError(f"{coins} cannot be taken, the purse has {left}.", hint="Take fewer.")
        return left - coins

    left = await update_record(context.host.records("purse"), "coins", take)
    return f"Taken for {what}: {coins}. Left: {left.value}."


@hookimpl
def hermes_register_tools() -> list[Tool]:
    """The one tool."""
    return [purse_take]


@hookimpl
async def hermes_before_tool_call(host: Host, call: CallView) -> Decision:
    """Ask before many coins are taken."""
    if call.tool != "purse_take":
        return Allow()
    coins = call.arguments["coins"]
    if isinstance(coins, int) and coins <= host.section(Settings).ask_above:
        return Allow()
    return Ask(f"it takes {coins} coins")


@hookimpl
def hermes_register_config() -> list[ConfigSection]:
    """Both numbers."""
    return [ConfigSection(name="purse", schema=Settings)]
