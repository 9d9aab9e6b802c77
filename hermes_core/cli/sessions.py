"""``hermes sessions``: what was kept."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import click
import msgspec

from hermes_core.agent.cleaning import clean_output
from hermes_core.cli import values
from hermes_core.cli.context import paths_of
from hermes_core.clock import SystemClock
from hermes_core.paths import check_home
from hermes_core.store.sqlite import Store
from hermes_plugins._errors import HermesError
from hermes_plugins._messages import Message
from hermes_plugins._store import SessionInfo

T = TypeVar("T")

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("sessions")
def command() -> None:
    """List, show, search and export sessions.

    \b
    Examples:
      hermes sessions list
      hermes sessions search "docker compose"
      hermes sessions export 20261130_101500_ab12cd > session.jsonl
    """


@command.command("list")
@click.option(
    "-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many."
)
@_JSON
@click.pass_context
def list_sessions(ctx: click.Context, limit: int, as_json: bool) -> None:
    """Sessions by last use, newest first.

    \b
    Example:
      hermes sessions list -n 50
    """
    found = _with_store(ctx, lambda store: store.list(limit=limit))
    if as_json:
        _print_json(found)
    elif not found:
        click.echo("No session yet. `hermes` starts one.")
    for info in () if as_json else found:
        title = clean_output(info.title or "(no title)")
        count = f"{info.message_count:>4} message{' ' if info.message_count == 1 else 's'}"
        click.echo(f"{info.id}  {_when(info.updated)}  {count}  {title}")


@command.command("show")
@click.argument("session", shell_complete=values.sessions)
@click.option("--tools", is_flag=True, help="Show tool results whole.")
@_JSON
@click.pass_context
def show_session(ctx: click.Context, session: str, tools: bool, as_json: bool) -> None:
    """The messages of a session (id, unique beginning of an id, or title).

    \b
    Example:
      hermes sessions show 20261130_101500_ab12cd --tools
    """

    async def read(store: Store) -> tuple[SessionInfo, list[Message]]:
        from hermes_core.opening import find_session

        info = await find_session(store, session)
        return info, [stored.message for stored in await store.messages(info.id)]

    info, messages = _with_store(ctx, read)
    if as_json:
        _print_json({"session": info, "messages": messages})
        return
    click.echo(f"{info.id}  {info.title or '(no title)'}  {info.model}  {info.workspace}\n")
    for message in messages:
        click.echo(_shown(message, whole=tools))


@command.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option(
    "-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many."
)
@_JSON
@click.pass_context
def search_sessions(ctx: click.Context, query: tuple[str, ...], limit: int, as_json: bool) -> None:
    """Messages with these words; quotes keep words together.

    \b
    Example:
      hermes sessions search docker '"exit code 137"'
    """
    answer = _with_store(ctx, lambda store: store.search(" ".join(query), limit=limit))
    if as_json:
        _print_json(answer)
        return
    for hit in answer.hits:
        snippet = " ".join(clean_output(hit.snippet).split())
        click.echo(f"{hit.session} #{hit.position} {hit.role}  {_when(hit.time)}\n    {snippet}")
    if not answer.hits:
        click.echo("Nothing found.")
    elif answer.more:
        click.echo("There are older matches; add a word to narrow it down.")


@command.command("export")
@click.argument("session", shell_complete=values.sessions)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), default="-", help="File; - is stdout."
)
@click.pass_context
def export_session(ctx: click.Context, session: str, output: str) -> None:
    """A session as JSON lines: a header, then one message a line.

    \b
    Example:
      hermes sessions export 20261130_101500_ab12cd -o session.jsonl
    """

    async def read(store: Store) -> bytes:
        from hermes_core.opening import find_session

        return await store.export((await find_session(store, session)).id)

    data = _with_store(ctx, read)
    with click.open_file(output, "wb") as stream:
        stream.write(data)


@command.command("reindex")
@click.pass_context
def reindex(ctx: click.Context) -> None:
    """Build the search index anew, when search does not find what is there.

    The messages themselves stay as they are. Takes minutes for a million of them.

    \b
    Example:
      hermes sessions reindex
    """
    _with_store(ctx, lambda store: store.reindex())
    click.echo("The search index is built anew.")


def _with_store(ctx: click.Context, work: Callable[[Store], Awaitable[T]]) -> T:
    """Open the store for one question; where there is none yet, an empty one that is not kept."""
    paths = paths_of(ctx)
    if problem := check_home(paths):
        raise HermesError(problem)

    async def run() -> T:
        file = paths.home / "state.db"
        place = file if file.exists() else Path(":memory:")
        store = Store(place, clock=SystemClock(), process="cli")
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())


def _print_json(value: object) -> None:
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def _shown(message: Message, *, whole: bool) -> str:
    text = clean_output(message.text)
    if message.role == "tool" and not whole:
        first = text.strip().partition("\n")[0][:100]
        return f"  · {message.tool_name} [{message.status}] {first}"
    calls = "".join(f"\n  · {call.name} {call.arguments[:100]}" for call in message.tool_calls)
    mark = " (interrupted)" if message.status == "interrupted" else ""
    return f"{message.role}{mark}: {text}{calls}\n"
