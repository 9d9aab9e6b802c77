"""The tool set journal. The work stands in ``pages.py``, imported on use."""

from __future__ import annotations

from typing import Annotated

from hermes_plugins import (
    ConfigSection,
    Meta,
    Reads,
    Section,
    Tool,
    ToolContext,
    Writes,
    hookimpl,
    tool,
)

FILE = "journal.md"


class Settings(Section, frozen=True, kw_only=True):
    """Section ``plugins.journal``."""

    max_lines: Annotated[int, Meta(ge=1, description="lines that one look shows")] = 50


@tool(toolset="journal", label="text", effects=[Writes(path=FILE)])
async def journal_write(
    context: ToolContext, text: Annotated[str, "one line, as the person said it"]
) -> str:
    """Add a line to the person's journal, with the date."""
    from . import pages

    return await pages.write(context, FILE, text)


@tool(toolset="journal", label="word", effects=[Reads(path=FILE)], untrusted_output=True)
async def journal_read(
    context: ToolContext, word: Annotated[str, "only lines with this word"] = ""
) -> str:
    """The newest lines of the person's journal."""
    from . import pages

    return await pages.read(context, FILE, word, limit=context.host.section(Settings).max_lines)


@hookimpl
def hermes_register_tools() -> list[Tool]:
    """Both tools."""
    return [journal_write, journal_read]


@hookimpl
def hermes_register_config() -> list[ConfigSection]:
    """How much is shown."""
    return [ConfigSection(name="journal", schema=Settings)]
