"""``hermes sessions``: what was kept. What changes something stands in the modules beside."""

from __future__ import annotations

import click

from hermes_core.agent.cleaning import clean_output
from hermes_core.cli import values
from hermes_core.cli.kept import JSON, print_json, when, with_store
from hermes_core.cli.sessions_files import export_sessions, import_sessions
from hermes_core.cli.sessions_forget import delete_sessions, prune_sessions
from hermes_core.cli.sessions_repair import repair_store
from hermes_core.store.sqlite import Store
from hermes_plugins._messages import Message
from hermes_plugins._store import SessionInfo


@click.group("sessions")
def command() -> None:
    """See, name, move, forget and repair what was kept.

    \b
    Examples:
      hermes sessions list
      hermes sessions search "docker compose"
      hermes sessions rename 20261130_101500_ab12cd taxes
      hermes sessions export taxes -o taxes.jsonl
      hermes sessions prune --older-than 90d --keep-titled
    """


for _one in (export_sessions, import_sessions, delete_sessions, prune_sessions, repair_store):
    command.add_command(_one)


@command.command("list")
@click.option(
    "-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many."
)
@JSON
@click.pass_context
def list_sessions(ctx: click.Context, limit: int, as_json: bool) -> None:
    """Sessions by last use, newest first.

    \b
    Example:
      hermes sessions list -n 50
    """
    found = with_store(ctx, lambda store: store.list(limit=limit))
    if as_json:
        print_json(found)
    elif not found:
        click.echo("No session yet. `hermes` starts one.")
    for info in () if as_json else found:
        title = clean_output(info.title or "(no title)")
        count = f"{info.message_count:>4} message{' ' if info.message_count == 1 else 's'}"
        click.echo(f"{info.id}  {when(info.updated)}  {count}  {title}")


@command.command("show")
@click.argument("session", shell_complete=values.sessions)
@click.option("--tools", is_flag=True, help="Show tool results whole.")
@JSON
@click.pass_context
def show_session(ctx: click.Context, session: str, tools: bool, as_json: bool) -> None:
    """The messages of a session.

    SESSION is its id, the unique beginning of its id, or its title.

    \b
    Example:
      hermes sessions show 20261130_101500_ab12cd --tools
    """

    async def read(store: Store) -> tuple[SessionInfo, list[Message]]:
        from hermes_core.naming import find_session

        info = await find_session(store, session)
        return info, [stored.message for stored in await store.messages(info.id)]

    info, messages = with_store(ctx, read)
    if as_json:
        print_json({"session": info, "messages": messages})
        return
    click.echo(f"{info.id}  {info.title or '(no title)'}  {info.model}  {info.workspace}\n")
    for message in messages:
        click.echo(_shown(message, whole=tools))


@command.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option(
    "-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many."
)
@JSON
@click.pass_context
def search_sessions(ctx: click.Context, query: tuple[str, ...], limit: int, as_json: bool) -> None:
    """Messages with these words; quotes keep words together.

    \b
    Example:
      hermes sessions search docker '"exit code 137"'
    """
    answer = with_store(ctx, lambda store: store.search(" ".join(query), limit=limit))
    if as_json:
        print_json(answer)
        return
    for hit in answer.hits:
        snippet = " ".join(clean_output(hit.snippet).split())
        click.echo(f"{hit.session} #{hit.position} {hit.role}  {when(hit.time)}\n    {snippet}")
    if not answer.hits:
        click.echo("Nothing found.")
    elif answer.more:
        click.echo("There are older matches; add a word to narrow it down.")


@command.command("rename")
@click.argument("session", shell_complete=values.sessions)
@click.argument("title", nargs=-1, required=True)
@click.pass_context
def rename_session(ctx: click.Context, session: str, title: tuple[str, ...]) -> None:
    """Give a session a title to resume it by.

    No other session may have it.

    \b
    Example:
      hermes sessions rename 20261130_101500_ab12cd taxes of 2026
      hermes --resume "taxes of 2026"
    """

    async def change(store: Store) -> tuple[str, str]:
        from hermes_core.naming import find_session, rename

        found = await find_session(store, session)
        return found.id, await rename(store, found.id, " ".join(title))

    session_id, kept = with_store(ctx, change)
    click.echo(f"{session_id} is now {kept!r}.")


def _shown(message: Message, *, whole: bool) -> str:
    text = clean_output(message.text)
    if message.role == "tool" and not whole:
        first = text.strip().partition("\n")[0][:100]
        return f"  · {message.tool_name} [{message.status}] {first}"
    calls = "".join(f"\n  · {call.name} {call.arguments[:100]}" for call in message.tool_calls)
    mark = " (interrupted)" if message.status == "interrupted" else ""
    return f"{message.role}{mark}: {text}{calls}\n"
