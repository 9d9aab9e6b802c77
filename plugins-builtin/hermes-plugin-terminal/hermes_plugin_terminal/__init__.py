"""The terminal and process tools. The work stands in ``commands.py`` and ``processes.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeAlias

from hermes_plugins import (
    ConfigSection,
    DoctorCheck,
    Effect,
    Finding,
    Host,
    Json,
    Meta,
    Pure,
    Runs,
    Section,
    SetupSection,
    Tool,
    ToolContext,
    ToolResult,
    hookimpl,
    tool,
)

Action: TypeAlias = Literal["list", "poll", "log", "wait", "kill", "write", "submit", "close"]


class Settings(Section, frozen=True):
    """The section ``plugins.terminal``."""

    timeout: Annotated[
        float, Meta(gt=0, description="Seconds a command may take when the call does not say.")
    ] = 180.0
    max_timeout: Annotated[
        float, Meta(gt=0, description="Seconds; the longest that a call may ask for.")
    ] = 600.0
    output_chars: Annotated[
        int, Meta(ge=1000, description="Characters of output in one result.")
    ] = 50_000
    shell: Annotated[str, Meta(description="Name or path; empty takes the user's own.")] = ""


@tool(
    toolset="terminal",
    effects=[Runs(arg="command")],
    label="command",
    aliases=["bash", "shell"],
    result_limit=60_000,
    timeout=-1,
)
async def terminal(
    context: ToolContext,
    command: str,
    background: Annotated[bool, "for servers and long jobs; see process"] = False,
    timeout: Annotated[float | None, "seconds; default 180, at most 600"] = None,
    workdir: Annotated[str, "for this call only"] = "",
) -> ToolResult:
    """Run a shell command. Working directory and exports carry over; stdin is closed."""
    from . import commands

    if background:
        return await commands.start(context, command, workdir=workdir)
    return await commands.run(context, command, timeout=timeout, workdir=workdir)


def _effects_of_process(arguments: Mapping[str, Json]) -> Sequence[Effect]:
    """What is typed into a process may be a command; all else stays inside the session."""
    data = arguments.get("data")
    if arguments["action"] in ("write", "submit") and data:
        return [Runs(command=str(data))]
    return [Pure()]


@tool(toolset="terminal", effects=_effects_of_process, label="action", timeout=-1)
async def process(
    context: ToolContext,
    action: Action,
    id: str = "",  # noqa: A002  (the name the model sees)
    data: Annotated[str, "for write; submit adds Enter"] = "",
    timeout: Annotated[float | None, "for wait"] = None,
    offset: Annotated[int | None, "first line of log"] = None,
    limit: Annotated[int, "lines of log"] = 200,
) -> ToolResult:
    """Background processes: poll gives new output, close ends stdin."""
    from . import processes

    request = processes.Request(
        action=action, id=id, data=data, timeout=timeout, offset=offset, limit=limit
    )
    return await processes.answer(context, request)


@hookimpl
def hermes_register_tools() -> list[Tool]:
    """Both tools."""
    return [terminal, process]


@hookimpl
def hermes_register_config() -> list[ConfigSection]:
    """Time-outs, output limit, shell; two of them also stand in the kernel's own section."""
    inherits = {"timeout": "terminal.timeout", "shell": "terminal.shell"}
    return [ConfigSection(name="terminal", schema=Settings, inherits=inherits)]


@hookimpl
def hermes_register_setup() -> list[SetupSection]:
    """Where commands begin, in which shell, and for how long."""
    from .questions import SECTION

    return [SECTION]


async def _look(host: Host) -> Sequence[Finding]:
    from . import checks

    return await checks.look_at_shell(host)


@hookimpl
def hermes_register_doctor() -> list[DoctorCheck]:
    """Whether the shell is there and runs something."""
    return [DoctorCheck(id="terminal.shell", title="Shell", run=_look)]
