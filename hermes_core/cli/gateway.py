"""``hermes gateway``: run the chat platforms and servers of this home, see how they are, stop them."""

from __future__ import annotations

import asyncio
import os
import signal
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from hermes_core.agent.cleaning import clean_output
from hermes_core.cli.console import print_error, tell
from hermes_core.cli.context import paths_of, working_folder
from hermes_core.cli.signals import Signals
from hermes_core.clock import SystemClock
from hermes_core.config import process_environment
from hermes_plugins._errors import HermesError, UsageError

if TYPE_CHECKING:
    from hermes_core.gateway.gateway import GatewayState
    from hermes_plugins._host import Paths

LOCK_FILE: Final = "gateway.lock"
STOP_SECONDS: Final = 60.0
"""What a gateway gets to end; ``gateway.drain`` is part of it."""
NOT_RUNNING: Final = 3
"""Exit status of ``status`` (as of init scripts, LSB 5.0)."""


@click.group("gateway")
def command() -> None:
    """Run the agent on chat platforms, and as a server.

    \b
    Examples:
      hermes config set platforms.irc.enabled true
      hermes config set platforms.irc.allow '["ada!*@*.example.org"]'
      hermes gateway run
    """


@command.command("run")
@click.option("--plugin", "modules", metavar="MODULE", multiple=True, help="Load a plugin module.")
@click.pass_context
def run_gateway(ctx: click.Context, modules: tuple[str, ...]) -> int:
    """Run every enabled platform until Ctrl-C or SIGTERM; what runs then is finished first.

    \b
    Example:
      hermes gateway run
    """
    paths = paths_of(ctx)
    handle = lock_home(paths.home)
    if handle is None:
        raise UsageError(
            "a gateway of this home is running already.", hint="`hermes gateway status` shows it."
        )
    signals = Signals()
    try:
        return asyncio.run(_run(paths, modules, signals))
    except asyncio.CancelledError:
        return signals.status
    finally:
        os.close(handle)


@command.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def show_status(ctx: click.Context, as_json: bool) -> int:
    """How the gateway and each platform is; exit status 3 when it does not run.

    \b
    Example:
      hermes gateway status --json
    """
    from hermes_core.gateway.gateway import read_state

    paths = paths_of(ctx)
    is_running = _is_running(paths)
    state = read_state(paths.home)
    if as_json:
        import msgspec

        told = {"v": 1, "running": is_running, "last": state}
        click.echo(msgspec.json.format(msgspec.json.encode(told), indent=2).decode())
    else:
        click.echo("\n".join(_lines(state, is_running=is_running)))
    return 0 if is_running else NOT_RUNNING


@command.command("stop")
@click.pass_context
def stop_gateway(ctx: click.Context) -> None:
    """Tell the gateway to finish what it works on and end, and wait for that.

    \b
    Example:
      hermes gateway stop
    """
    from hermes_core.gateway.gateway import read_state

    paths = paths_of(ctx)
    state = read_state(paths.home)
    if not _is_running(paths) or state is None:
        raise UsageError("no gateway of this home is running.", hint="`hermes gateway run`")
    try:
        os.kill(state.pid, signal.SIGTERM)
    except OSError as error:
        raise HermesError(
            f"process {state.pid} cannot be told to end: {error.strerror}."
        ) from error
    if not asyncio.run(_ended(paths)):
        raise HermesError(
            f"the gateway (process {state.pid}) has not ended within {STOP_SECONDS:g} s.",
            hint=f"It may be working on something long; `kill -9 {state.pid}` ends it, "
            "and nothing that was accepted is lost.",
        )
    click.echo("The gateway has ended.")


async def _run(paths: Paths, modules: tuple[str, ...], signals: Signals) -> int:
    from hermes_core.faces import RuntimeFace
    from hermes_core.gateway.gateway import Gateway
    from hermes_core.runtime import open_runtime

    stop = asyncio.Event()

    def end(reason: str) -> None:
        tell("Finishing what runs; once more ends at once.\n")
        stop.set()

    signals.catch()
    signals.interrupt = end
    runtime = await open_runtime(
        paths, environ=process_environment(), cwd=working_folder(), modules=modules
    )
    try:
        gateway = Gateway(
            runtime,
            pid=os.getpid(),
            face_host=partial(RuntimeFace, runtime),
            tell=print_error,
        )
        for note in runtime.config.notes:
            print_error(note)
        await gateway.load()
        for name in gateway.platforms:
            if not runtime.config.settings.platforms[name].allow:
                print_error(
                    f"platforms.{name}.allow is empty: nobody may talk to the agent there.",
                    hint=f"`hermes config set platforms.{name}.allow '[\"SENDER\"]'` lets somebody in.",
                )
        for problem in runtime.host.problems:
            print_error(": ".join(filter(None, (problem.plugin, problem.text))), hint=problem.hint)
        tell(f"Gateway of {paths.home}: {', '.join(gateway.names)}. Ctrl-C ends it.\n")
        await gateway.run(stop)
    finally:
        await runtime.close()
    return 0


async def _ended(paths: Paths) -> bool:
    clock = SystemClock()
    until = clock.monotonic() + STOP_SECONDS
    while _is_running(paths):
        if clock.monotonic() > until:
            return False
        await clock.sleep(0.05)
    return True


def lock_home(home: Path) -> int | None:
    """The lock of a home's gateway, an open file; None while another process has it."""
    from hermes_core.filelock import lock

    file = home / LOCK_FILE
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise HermesError(f"{file} cannot be opened: {error.strerror}.") from error
    if lock(handle):
        return handle
    os.close(handle)
    return None


def _is_running(paths: Paths) -> bool:
    if not (paths.home / LOCK_FILE).exists():
        return False
    handle = lock_home(paths.home)
    if handle is None:
        return True
    os.close(handle)
    return False


def running_gateway(home: Path) -> int | None:
    """The process of the gateway that serves a home, 0 where it does not say; None: none runs."""
    from hermes_core.gateway.gateway import read_state
    from hermes_plugins._host import Paths

    try:
        if not _is_running(Paths(home=home, cache=home / "cache", logs=home / "logs")):
            return None
    except HermesError:  # another user's
        return None
    state = read_state(home)
    return state.pid if state else 0


def _lines(state: GatewayState | None, *, is_running: bool) -> list[str]:
    if state is None:
        return ["The gateway has never run in this home. `hermes gateway run` starts it."]
    if is_running:
        lines = [f"Running since {_when(state.started)}, process {state.pid}."]
    elif state.clean:
        lines = [f"Not running; ended {_when(state.updated)}."]
    else:
        lines = [f"Not running; it was cut off, last seen {_when(state.updated)}."]
    for name, one in state.platforms.items():
        since = f" since {_when(one.since)}" if one.since else ""
        lines.append(f"  {name}: {one.state}{since}")
        if one.trouble:
            lines.append(f"    now: {clean_output(one.trouble)}")
        elif one.last_error:
            lines.append(f"    last error: {clean_output(one.last_error)}")
        if one.unanswered or one.unsent:
            lines.append(f"    {one.unanswered} to answer, {one.unsent} to send")
    return lines


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")
