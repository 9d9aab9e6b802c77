"""The slash commands that every face has. Each returns text to show, which may be empty."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import msgspec

from hermes_core.agent.agent import Session
from hermes_core.naming import rename
from hermes_core.route.route import Wanted
from hermes_plugins._approvals import Answer, Choice
from hermes_plugins._errors import UsageError
from hermes_plugins._faces import FaceSession, SessionWish, SlashCommand, SlashContext
from hermes_plugins._messages import Message
from hermes_plugins._store import StoredMessage

if TYPE_CHECKING:
    from hermes_core.runtime import Runtime

RECENT: Final = 10
"""Sessions that ``/resume`` lists."""
_MODES: Final = {"manual": "asks you", "smart": "lets a model judge", "off": "asks nobody"}


def kernel_commands(runtime: Runtime) -> Sequence[SlashCommand]:
    """The commands, made for one runtime."""
    return [
        *_session_commands(runtime),
        *_telling_commands(runtime),
        *_model_commands(runtime),
        *_face_commands(),
    ]


# -- sessions --------------------------------------------------------------------------


def _session_commands(runtime: Runtime) -> Sequence[SlashCommand]:
    async def new(context: SlashContext, argument: str) -> str:
        _need_idle(context)
        await context.switch(_with_its_model(context))
        return f"New session {context.session.info.id}."

    async def resume(context: SlashContext, argument: str) -> str:
        if not argument:
            recent = await context.face.sessions.list(limit=RECENT)
            lines = [f"{one.id}  {one.title or '(no title)'}" for one in recent]
            return "\n".join([*lines, "/resume ID or /resume TITLE goes on with one."])
        _need_idle(context)
        found = await context.face.sessions.find(argument)
        if [one.id for one in found] == [context.session.info.id]:
            return "That is this session."
        await context.switch(SessionWish(resume=argument))
        return f"Going on with {await _name(context)}."

    async def branch(context: SlashContext, argument: str) -> str:
        before = context.session.info.id
        _need_idle(context)
        await context.switch(SessionWish(resume=before, fork=True))
        return f"Going on in a copy, {context.session.info.id}; {before} stays as it is."

    async def undo(context: SlashContext, argument: str) -> str:
        before = context.session.info.id
        taken = await _taken_back(context)
        shown = " ".join(taken.text.split())
        cut = f"{shown[:60]}…" if len(shown) > 60 else shown
        return f"Taken back: {cut!r}. {before} still has it."

    async def retry(context: SlashContext, argument: str) -> str:
        context.submit(argument or await _taken_back(context))
        return ""

    async def title(context: SlashContext, argument: str) -> str:
        if not argument:
            return await _name(context)
        title = await rename(runtime.store, context.session.info.id, argument)
        return f"The title is now {title!r}."

    return [
        SlashCommand(name="new", help="Begin a new session.", run=new, aliases=("clear",)),
        SlashCommand(name="resume", usage="[ID|TITLE]", help="Go on with a session.", run=resume),
        SlashCommand(name="branch", help="Go on in a copy of this session.", run=branch),
        SlashCommand(name="undo", help="Take the last question and its answer back.", run=undo),
        SlashCommand(name="retry", help="Ask the last question once more.", run=retry),
        SlashCommand(name="title", usage="[TEXT]", help="Show or set the title.", run=title),
    ]


def _telling_commands(runtime: Runtime) -> Sequence[SlashCommand]:
    async def status(context: SlashContext, argument: str) -> str:
        return await _status(runtime, context)

    async def usage(context: SlashContext, argument: str) -> str:
        return await _usage(runtime, context)

    async def save(context: SlashContext, argument: str) -> str:
        return await _save(runtime, context, argument)

    async def compress(context: SlashContext, argument: str) -> str:
        return _compress(runtime, context)

    return [
        SlashCommand(name="status", help="Show the session, model and mode.", run=status),
        SlashCommand(name="usage", help="Show tokens and cost of this session.", run=usage),
        SlashCommand(name="save", usage="FILE", help="Write the conversation to a file.", run=save),
        SlashCommand(name="compress", help="Make a long session shorter.", run=compress),
    ]


def _with_its_model(context: SlashContext, *, toolsets: tuple[str, ...] = ()) -> SessionWish:
    """A new session with the model of this one, whatever provider the settings name."""
    provider, _, model = context.session.model.partition("/")
    return SessionWish(model=model, provider=provider, toolsets=toolsets)


async def _taken_back(context: SlashContext) -> Message:
    """Go on in a copy without the last question of the person; returns that."""
    _need_idle(context)
    info = context.session.info
    stored = await context.face.sessions.messages(info.id)
    asked = [one for one in stored if _is_question(one)]
    if not asked:
        raise UsageError("there is no question to take back.")
    last = asked[-1]
    await context.switch(SessionWish(resume=info.id, fork=True, upto=last.position - 1))
    return msgspec.structs.replace(last.message, added=())


def _is_question(stored: StoredMessage) -> bool:
    """What was said while the model worked belongs to the question before it."""
    return stored.message.role == "user" and not stored.message.meta.get("steer")


async def _name(context: SlashContext) -> str:
    info = await context.face.sessions.get(context.session.info.id)
    return info.title if info is not None and info.title else context.session.info.id


async def _status(runtime: Runtime, context: SlashContext) -> str:
    session, status = context.session, context.session.status
    rows = {
        "session": f"{session.info.id}  {await _name(context)}",
        "model": session.model,
        "folder": session.info.workspace,
        "messages": str(len(session.history)),
        "tools": str(len(session.tools)),
        "context": _context(session),
        "budget": f"{status.max_turns} model calls a message",
        "approvals": f"{status.mode} ({_MODES[status.mode]})",
        "home": str(runtime.paths.home),
    }
    return "\n".join(f"{key:<10} {value}" for key, value in rows.items())


def _context(session: FaceSession) -> str:
    used, window = session.status.context_used, session.status.context_length
    if not used:
        return f"nothing yet, of {window:,} tokens" if window else "nothing yet"
    return (
        f"{used:,} of {window:,} tokens" if window else f"{used:,} tokens; the window is not known"
    )


def _compress(runtime: Runtime, context: SlashContext) -> str:
    """No engine is called yet, so it says that, and what helps meanwhile."""
    engine = runtime.config.settings.context.engine
    if engine in runtime.host.names("hermes.context"):
        why = f"the engine {engine} is installed, but Hermes does not call it yet."
    else:
        why = f"no installed plugin offers the engine {engine} (context.engine)."
    return (
        f"Nothing was compressed: {why}\nThe context holds {_context(context.session)}.\n"
        "/new begins an empty session; this one stays, and /resume finds it."
    )


async def _usage(runtime: Runtime, context: SlashContext) -> str:
    used = await runtime.store.usage(context.session.info.id)
    lines = [
        f"{model}: {one.input:,} tokens in ({one.cached:,} cached), {one.output:,} out"
        + (f", ${one.cost:.4f}" if one.cost is not None else "")
        for model, one in used.items()
    ]
    return "\n".join(lines) or "Nothing used yet."


async def _save(runtime: Runtime, context: SlashContext, argument: str) -> str:
    if not argument:
        raise UsageError("/save needs a file.", hint="/save talk.md, or /save talk.jsonl")
    from hermes_core.store import transfer

    path = runtime.cwd / Path(argument).expanduser()
    exported = await runtime.store.read(transfer.export, context.session.info.id)
    exported = transfer.redacted(exported, runtime.redactor.redact)
    data = transfer.written(exported, as_json=path.suffix == ".jsonl")
    try:
        with path.open("xb") as file:
            file.write(data)
    except FileExistsError:
        raise UsageError(f"{path} is there already.", hint="Take another name.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error
    return f"Written to {path}."


# -- models and tools ------------------------------------------------------------------


def _model_commands(runtime: Runtime) -> Sequence[SlashCommand]:
    async def model(context: SlashContext, argument: str) -> str:
        if not argument:
            known = [one for one in await context.face.models() if one != context.session.model]
            listed = "".join(f"\n  {one}" for one in known)
            return f"{context.session.model} answers. /model PROVIDER/MODEL takes another.{listed}"
        first, slash, rest = argument.partition("/")
        providers = {*runtime.host.names("hermes.providers"), *runtime.config.settings.providers}
        if slash and first in providers:
            return await _use(runtime, context, Wanted(model=rest, provider=first))
        return await _use(runtime, context, Wanted(model=argument))

    async def provider(context: SlashContext, argument: str) -> str:
        if not argument:
            names = ", ".join(runtime.host.names("hermes.providers"))
            return f"{context.session.model.partition('/')[0]} answers. There is: {names}."
        return await _use(runtime, context, Wanted(model="auto", provider=argument))

    async def tools(context: SlashContext, argument: str) -> str:
        lines = [f"{one.name}: {one.description.splitlines()[0]}" for one in context.session.tools]
        return "\n".join(lines) or "This session has no tools."

    async def toolsets(context: SlashContext, argument: str) -> str:
        if not argument:
            return _toolsets(runtime, context)
        _need_idle(context)
        names = tuple(argument.replace(",", " ").split())
        await context.switch(_with_its_model(context, toolsets=names))
        return f"New session {context.session.info.id} with {', '.join(names)}."

    async def skills(context: SlashContext, argument: str) -> str:
        from hermes_core.slash_skills import describe, find_packs

        home = runtime.paths.skills
        more = [runtime.cwd / Path(one).expanduser() for one in runtime.config.settings.skills.dirs]
        return describe(await asyncio.to_thread(find_packs, [home, *more]), home)

    return [
        SlashCommand(
            name="model", usage="[PROVIDER/MODEL]", help="Show or change the model.", run=model
        ),
        SlashCommand(
            name="provider", usage="[NAME]", help="Show or change the provider.", run=provider
        ),
        SlashCommand(name="tools", help="Show the tools of this session.", run=tools),
        SlashCommand(name="skills", help="Show the skill packs, and how to use one.", run=skills),
        SlashCommand(
            name="toolsets",
            usage="[A,B]",
            help="Show the sets of tools, or begin a session with some.",
            run=toolsets,
        ),
    ]


async def _use(runtime: Runtime, context: SlashContext, wanted: Wanted) -> str:
    _need_idle(context)
    route = await runtime.router().resolve(wanted)
    await cast("Session", context.session).use(route)
    return f"{route.label} answers from now on."


def _toolsets(runtime: Runtime, context: SlashContext) -> str:
    here = {one.name for one in context.session.tools}
    sets: dict[str, list[str]] = {name: [] for name in runtime.host.names("hermes.tools")}
    for loaded in runtime.host.loaded.values():
        for tool in loaded.tools:
            if tool.name in here:
                sets.setdefault(tool.toolset, []).append(tool.name)
    lines = [f"{name}: {', '.join(tools) or 'not here'}" for name, tools in sorted(sets.items())]
    return "\n".join([*lines, "/toolsets A,B begins a session with just these."])


# -- the face --------------------------------------------------------------------------


def _face_commands() -> Sequence[SlashCommand]:
    async def show_help(context: SlashContext, argument: str) -> str:
        commands = context.face.commands()
        width = max(len(f"{one.name} {one.usage}") for one in commands)
        return "\n".join(
            f"/{f'{one.name} {one.usage}':<{width}}  {one.help}".rstrip() for one in commands
        )

    async def steer(context: SlashContext, argument: str) -> str:
        _need(argument, "/steer", "what to say")
        if context.running is None or not context.running.steer(argument):
            context.submit(argument)
        return ""

    async def queue(context: SlashContext, argument: str) -> str:
        _need(argument, "/queue", "a message")
        context.submit(argument)
        return "" if context.running is None else "It comes next."

    async def stop(context: SlashContext, argument: str) -> str:
        if context.running is None:
            return "Nothing is running."
        context.running.interrupt("you said /stop")
        return ""

    async def approve(context: SlashContext, argument: str) -> str:
        word = argument.lower() or "once"
        if word not in ("once", "session", "always"):
            raise UsageError(f"/approve {argument}: say once, session or always.")
        return _answered(context, Answer(cast("Choice", word)))

    async def deny(context: SlashContext, argument: str) -> str:
        return _answered(context, Answer("deny", argument))

    async def yolo(context: SlashContext, argument: str) -> str:
        mode = "manual" if context.session.status.mode == "off" else "off"
        context.session.set_mode(mode)
        if mode == "off":
            return (
                "Approvals are off: nothing asks any more (the hard floor stays). /yolo turns back."
            )
        return "Approvals are on again."

    async def verbose(context: SlashContext, argument: str) -> str:
        whole = context.toggle_verbose()
        return "Results of tools are shown whole." if whole else "Results of tools are hidden."

    async def edit(context: SlashContext, argument: str) -> str:
        text = await context.edit(argument)
        if not text.strip():
            return "The text is empty; nothing was sent."
        context.submit(text)
        return ""

    async def leave(context: SlashContext, argument: str) -> str:
        context.leave()
        return ""

    command = SlashCommand
    return [
        command(name="help", help="Show these commands.", run=show_help, aliases=("?",)),
        command(name="steer", usage="TEXT", help="Tell it something while it works.", run=steer),
        command(name="queue", usage="TEXT", help="Send a message when it is done.", run=queue),
        command(name="stop", help="Interrupt what it does.", run=stop),
        command(
            name="approve", usage="[once|session|always]", help="Allow what it asks.", run=approve
        ),
        command(name="deny", usage="[REASON]", help="Refuse what it asks.", run=deny),
        command(name="yolo", help="Switch approvals off, or on again.", run=yolo),
        command(name="verbose", help="Show or hide what tools return.", run=verbose),
        command(name="edit", usage="[TEXT]", help="Write the message in $EDITOR.", run=edit),
        command(name="quit", help="Leave.", run=leave, aliases=("exit",)),
    ]


def _answered(context: SlashContext, answer: Answer) -> str:
    return "" if context.answer(answer) else "Nothing waits for an answer."


def _need(argument: str, name: str, what: str) -> None:
    if not argument:
        raise UsageError(f"{name} needs {what}.", hint=f"{name} TEXT")


def _need_idle(context: SlashContext) -> None:
    if context.running is not None:
        raise UsageError("it is still working.", hint="/stop interrupts it.")
