"""``hermes sessions export`` and ``import``: sessions to files, and back."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from hermes_core.agent.cleaning import clean_output
from hermes_core.cli import values
from hermes_core.cli.console import tell
from hermes_core.cli.kept import JSON, print_json, redactor_of, with_store
from hermes_core.paths import write_whole
from hermes_core.store import transfer
from hermes_core.store.sqlite import Store, new_session_id
from hermes_plugins._errors import HermesError, UsageError

if TYPE_CHECKING:
    from hermes_core.store.intake import Brought

_EVERY: Final = 1_000_000
"""More sessions than anybody has."""


@click.command("export")
@click.argument("names", metavar="[SESSION]…", nargs=-1, shell_complete=values.sessions)
@click.option("--all", "everything", is_flag=True, help="Every session.")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), default="-", help="File; - is stdout."
)
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["jsonl", "md"]),
    help="JSON lines, which `import` reads, or Markdown, for people; else what FILE ends with.",
)
@click.option("--with-secrets", is_flag=True, help="Leave keys and passwords in.")
@click.pass_context
def export_sessions(
    ctx: click.Context,
    names: tuple[str, ...],
    everything: bool,
    output: str,
    form: str | None,
    with_secrets: bool,
) -> None:
    """Write sessions to a file, or to stdout.

    JSON lines are a header and then one message a line, for each session. What looks like a secret is
    masked, as in what tools return.

    \b
    Examples:
      hermes sessions export 20261130_101500_ab12cd -o session.jsonl
      hermes sessions export taxes -o taxes.md
      hermes sessions export --all | ssh elsewhere hermes sessions import -
    """
    if everything == bool(names):
        raise UsageError(
            "name the sessions, or say --all.", hint="`hermes sessions list` shows them."
        )
    as_json = form == "jsonl" or (not form and not output.lower().endswith((".md", ".markdown")))

    async def read(store: Store) -> list[transfer.Exported]:
        from hermes_core.naming import find_session

        if everything:
            ids = [one.id for one in reversed(await store.list(limit=_EVERY))]
        else:
            ids = [(await find_session(store, name)).id for name in names]
        return [await store.read(transfer.export, one) for one in dict.fromkeys(ids)]

    found = with_store(ctx, read)
    data = file_of(ctx, found, as_json=as_json, with_secrets=with_secrets)
    if output != "-" and (os.path.isfile(output) or not os.path.exists(output)):
        try:
            write_whole(Path(output), data)
        except UsageError as error:
            hint = "Another place: `hermes sessions export SESSION -o FILE`"
            raise UsageError(error.message, hint=hint) from error
        return
    try:
        with click.open_file(output, "wb") as stream:  # a pipe, a device
            stream.write(data)
            stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "stdout" if output == "-" else output
        raise HermesError(f"{name} cannot be written: {error.strerror}.") from error


def file_of(
    ctx: click.Context,
    found: Sequence[transfer.Exported],
    *,
    as_json: bool = True,
    with_secrets: bool = False,
) -> bytes:
    """What a file with these sessions holds."""
    if not with_secrets:
        redact = redactor_of(ctx).redact
        found = [transfer.redacted(one, redact) for one in found]
    return (b"" if as_json else b"\n").join(transfer.written(one, as_json=as_json) for one in found)


@click.command("import")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@JSON
@click.pass_context
def import_sessions(ctx: click.Context, file: str, as_json: bool) -> None:
    """Read sessions that `export` wrote.

    FILE holds JSON lines, from here or elsewhere; - is stdin. A session whose id is here already comes
    in under a new one. A file with a mistake is refused whole.

    \b
    Examples:
      hermes sessions import session.jsonl
      hermes sessions import - < session.jsonl
    """
    from hermes_core.store import intake

    name = "stdin" if file == "-" else file
    parsed = intake.parse(_read(file, name), name)

    async def bring(store: Store) -> None:
        from random import SystemRandom

        random, now = SystemRandom(), store.now().time
        brought = await store.write(intake.bring_in, parsed, lambda: new_session_id(now, random))
        if as_json:
            print_json({"v": 1, "imported": brought})
        else:
            for one in brought:
                click.echo(_told(one))
        sys.stdout.flush()
        await store.index_rest()

    with_store(ctx, bring, make=True)


def _read(file: str, name: str) -> bytes:
    from hermes_core.store.intake import MAX_BYTES

    if file == "-" and sys.stdin.isatty():
        tell("Reading from the terminal; Ctrl-D ends.\n")
    try:
        with click.open_file(file, "rb") as stream:
            data: bytes = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_BYTES:
        raise HermesError(
            f"{name} is larger than {MAX_BYTES // 1_000_000} MB.",
            hint='Import its sessions in several files: each begins at a line with "session".',
        )
    return data


def _told(one: Brought) -> str:
    info = one.session
    count = f"{info.message_count} message{'' if info.message_count == 1 else 's'}"
    notes = f"; {one.was} is here already" if info.id != one.was else ""
    if info.title != one.was_titled:
        notes += "; another session has its title"
    return f"{info.id}  {count}  {clean_output(info.title or '(no title)')}{notes}"
