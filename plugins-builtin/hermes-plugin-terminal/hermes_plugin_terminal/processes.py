"""What the process tool does with the background processes of the environment."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from hermes_plugins import Process, ToolContext, ToolError, ToolResult

from . import Settings
from .commands import clean

if TYPE_CHECKING:
    from . import Action

MAX_LINES = 2000


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of one call."""

    action: Action
    id: str = ""
    data: str = ""
    timeout: float | None = None
    offset: int | None = None
    limit: int = 200


class Positions:
    """How far the output of each process was told to the model."""

    def __init__(self) -> None:
        self.told: dict[str, int] = {}


async def answer(context: ToolContext, request: Request) -> ToolResult:
    """Do what the call asks for.

    Raises:
        ToolError: no such process, or it does not take what it is given.
    """
    if request.action == "list":
        return ToolResult(text=_listed(context))
    process = _find(context, request.id)
    match request.action:
        case "poll":
            return _news(context, process)
        case "log":
            return _log(process, request)
        case "wait":
            return await _wait(context, process, request.timeout)
        case "kill":
            await process.kill()
            return _news(context, process)
        case "close":
            await process.close_input()
            return ToolResult(text=f"Closed the input of {process.id}.")
        case "write" | "submit":
            ending = "\n" if request.action == "submit" else ""
            await process.write(request.data + ending)
            return ToolResult(text=f"Sent {len(request.data)} characters to {process.id}.")
    raise ToolError(f"unknown action {request.action!r}.")


def _find(context: ToolContext, name: str) -> Process:
    found = context.environment.processes()
    for process in found:
        if process.id == name:
            return process
    known = ", ".join(process.id for process in found)
    raise ToolError(
        f"no process {name!r}." if name else "id is missing.",
        hint=f"There are: {known}." if known else "None runs; terminal starts one.",
    )


def _listed(context: ToolContext) -> str:
    now = context.clock.now()
    lines = [
        f"{process.id}  {_state(process)}  pid {process.pid}  "
        f"started {max(now - process.started, 0.0):.0f} s ago  {process.command}"
        for process in context.environment.processes()
    ]
    return "\n".join(lines) or "No background processes."


def _state(process: Process) -> str:
    return "running" if process.exit_code is None else f"exit {process.exit_code}"


def _news(context: ToolContext, process: Process, *, note: str = "") -> ToolResult:
    """What was printed since the last look, at most the tool's limit of it, and the state."""
    positions = context.state("terminal.positions", Positions).told
    text, positions[process.id] = process.output(since=positions.get(process.id, 0))
    text = clean(text)
    limit = min(context.host.section(Settings).output_chars, context.result_chars)
    if len(text) > limit:
        text = f"[... {len(text) - limit:,} characters before this; see log ...]\n{text[-limit:]}"
    if text and not text.endswith("\n"):
        text += "\n"
    return ToolResult(text=f"{text}[{process.id} {note or _state(process)}]")


def _log(process: Process, request: Request) -> ToolResult:
    lines = clean(process.output()[0]).splitlines()
    limit = min(max(request.limit, 1), MAX_LINES)
    first = len(lines) - limit + 1 if request.offset is None else request.offset
    first = max(first, 1)
    shown = lines[first - 1 : first - 1 + limit]
    last = first - 1 + len(shown)
    note = f"[{process.id} {_state(process)}; lines {first} to {last} of {len(lines)}]"
    return ToolResult(text="\n".join([*shown, note]))


async def _wait(context: ToolContext, process: Process, timeout: float | None) -> ToolResult:
    """Wait for the end, the time-out or the interrupt; the process itself goes on."""
    settings = context.host.section(Settings)
    seconds = min(settings.timeout if timeout is None else timeout, settings.max_timeout)
    ended = asyncio.ensure_future(process.wait())
    stopped = asyncio.ensure_future(context.cancelled.wait())
    try:
        async with context.clock.timeout(seconds):
            await asyncio.wait((ended, stopped), return_when=asyncio.FIRST_COMPLETED)
    except TimeoutError:
        return _news(context, process, note=f"still running after {seconds:g} s")
    finally:
        ended.cancel()
        stopped.cancel()
    result = _news(context, process)
    if context.cancelled.is_set():
        return msgspec.structs.replace(result, status="interrupted")
    return result
