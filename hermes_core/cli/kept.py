"""The store as a command uses it: opened for one question, and closed again."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click
import msgspec

from hermes_core.cli.context import paths_of, working_folder
from hermes_core.clock import SystemClock
from hermes_core.config import process_environment, read_config, secret_values
from hermes_core.paths import check_home
from hermes_core.store.sqlite import Store
from hermes_plugins._errors import HermesError, UsageError
from hermes_plugins._host import Paths

if TYPE_CHECKING:
    from hermes_core.gate.redact import Redactor

T = TypeVar("T")

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
YES = click.option("--yes", is_flag=True, help="Do not ask.")


def home_of(ctx: click.Context) -> Paths:
    """The home, which can be used.

    Raises:
        HermesError: it cannot.
    """
    paths = paths_of(ctx)
    if problem := check_home(paths):
        raise HermesError(problem)
    return paths


def with_store(
    ctx: click.Context, work: Callable[[Store], Awaitable[T]], *, make: bool = False
) -> T:
    """Open the store for ``work``; where there is none yet, ``make`` it, or an empty one that is not
    kept."""
    file = home_of(ctx).home / "state.db"

    async def run() -> T:
        place = file if make or file.exists() else Path(":memory:")
        store = Store(place, clock=SystemClock(), process="cli")
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())


def redactor_of(ctx: click.Context) -> Redactor:
    """Hides what this home knows to be secret, and what looks like it."""
    from hermes_core.gate.redact import Redactor

    config = read_config(paths_of(ctx), cwd=working_folder(), environ=process_environment())
    return Redactor(secret_values(config))


def agree(question: str, *, yes: bool) -> bool:
    """Ask, unless it was agreed to on the command line.

    Raises:
        UsageError: there is nobody to ask.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError("this needs a yes, and nobody is here to ask.", hint="Add --yes.")
    return click.confirm(question, err=True)


def when(seconds: float) -> str:
    """A time, for a person."""
    try:
        return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return f"{'(no time)':<16}"


def print_json(value: object) -> None:
    """A value, to be read by a program or a person."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")
