"""Memory in two text files: a tool to write them, a prompt section to read them.

The work stands in ``notes.py`` (entries and limits), ``files.py`` (lock, atomic replace), ``scan.py``
(hostile text), ``snapshot.py`` (what the prompt shows), ``listing.py`` (``/memory``), imported on use.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from hermes_plugins import (
    ConfigSection,
    PromptContext,
    PromptSection,
    Pure,
    SlashCommand,
    SlashContext,
    Tool,
    ToolContext,
    ToolResult,
    hookimpl,
    tool,
)


class Operation(TypedDict):
    """One change of a batch."""

    action: Literal["add", "replace", "remove"]
    content: NotRequired[str]
    old_text: NotRequired[str]


# The two files are this plugin's own state, in a folder that the gate keeps every file tool out of, and
# nothing here is named by the model but the choice between them: so `Pure`, not `Writes`. Two calls at
# once are safe, because each takes the lock.
@tool(toolset="memory", effects=[Pure()], label="target")
def memory(
    context: ToolContext,
    target: Annotated[Literal["memory", "user"], "memory: your notes; user: facts on the person"],
    action: Literal["add", "replace", "remove"] | None = None,
    content: Annotated[str, "the entry, for add and replace"] = "",
    old_text: Annotated[str, "text found in just one entry, for replace and remove"] = "",
    operations: Annotated[list[Operation] | None, "several changes, all or none"] = None,
) -> ToolResult:
    """Keep short, lasting facts for later sessions; replace and remove act on a whole entry.
    Saved at once, in your prompt from the next session on."""
    from . import notes

    single = Operation(action=action, content=content, old_text=old_text) if action else None
    return notes.remember(context, target, [*([single] if single else []), *(operations or [])])


@hookimpl
def hermes_register_tools() -> list[Tool]:
    """The one tool."""
    return [memory]


def _render(context: PromptContext) -> str:
    from . import snapshot

    return snapshot.render(context.host)


@hookimpl
def hermes_register_prompt_sections() -> list[PromptSection]:
    """Both files as they are when the session begins."""
    return [PromptSection(id="memory", tier="context", render=_render)]


async def _show(context: SlashContext, argument: str) -> str:
    from . import listing

    return await listing.show(context, argument)


@hookimpl
def hermes_register_slash_commands() -> list[SlashCommand]:
    """``/memory``."""
    return [SlashCommand(name="memory", help="Show what is remembered.", run=_show)]


@hookimpl
def hermes_register_config() -> list[ConfigSection]:
    """The limits, which the kernel's own keys may give too."""
    from .settings import MemoryFiles

    fields = ("memory_chars", "user_chars")
    inherits = {field: f"memory.{field}" for field in fields}
    return [ConfigSection(name="memory-files", schema=MemoryFiles, inherits=inherits)]
