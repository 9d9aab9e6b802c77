"""The slash commands that every face has, as functions of a session.

A command returns text to show. It changes the session only through its `SlashContext`; what a face
alone can do (``/quit``, ``/stop``, ``/yolo``) is the face's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hermes_plugins._faces import SessionWish, SlashCommand, SlashContext

if TYPE_CHECKING:
    from hermes_core.runtime import Runtime


def kernel_commands(runtime: Runtime) -> Sequence[SlashCommand]:
    """The commands, made for one runtime."""

    async def show_help(context: SlashContext, argument: str) -> str:
        commands = context.face.commands()
        width = max(len(f"{one.name} {one.usage}") for one in commands)
        return "\n".join(
            f"/{f'{one.name} {one.usage}':<{width}}  {one.help}".rstrip() for one in commands
        )

    async def new(context: SlashContext, argument: str) -> str:
        await context.switch(SessionWish(model=context.session.model))
        return f"New session {context.session.info.id}."

    async def resume(context: SlashContext, argument: str) -> str:
        if not argument:
            recent = await context.face.sessions.list(limit=10)
            return "\n".join(f"{one.id}  {one.title or '(no title)'}" for one in recent)
        await context.switch(SessionWish(resume=argument))
        return f"Continuing {context.session.info.title or context.session.info.id}."

    async def branch(context: SlashContext, argument: str) -> str:
        await context.switch(SessionWish(resume=context.session.info.id, fork=True))
        return f"Continuing in a copy, {context.session.info.id}."

    async def title(context: SlashContext, argument: str) -> str:
        if not argument:
            info = await context.face.sessions.get(context.session.info.id)
            return (info.title if info else "") or "(no title)"
        await runtime.store.set_title(context.session.info.id, argument)
        return f"The title is now {argument!r}."

    async def tools(context: SlashContext, argument: str) -> str:
        return "\n".join(f"{one.name}: {one.description}" for one in context.session.tools)

    async def usage(context: SlashContext, argument: str) -> str:
        used = await runtime.store.usage(context.session.info.id)
        return (
            "\n".join(
                f"{model}: {one.input:,} tokens in ({one.cached:,} cached), {one.output:,} out"
                + (f", ${one.cost:.4f}" if one.cost is not None else "")
                for model, one in used.items()
            )
            or "Nothing used yet."
        )

    return [
        SlashCommand(name="help", help="Show these commands.", run=show_help, aliases=("?",)),
        SlashCommand(name="new", help="Begin a new session.", run=new, aliases=("clear",)),
        SlashCommand(name="resume", usage="[ID|TITLE]", help="Continue a session.", run=resume),
        SlashCommand(name="branch", help="Go on in a copy of this session.", run=branch),
        SlashCommand(name="title", usage="[TEXT]", help="Show or set the title.", run=title),
        SlashCommand(name="tools", help="Show the tools of this session.", run=tools),
        SlashCommand(name="usage", help="Show tokens and cost of this session.", run=usage),
    ]
