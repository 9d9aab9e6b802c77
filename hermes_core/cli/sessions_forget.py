"""``hermes sessions delete`` and ``prune``: what goes, asked first; and giving the space back."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from hermes_core.agent.cleaning import clean_output
from hermes_core.cli import values
from hermes_core.cli.console import tell
from hermes_core.cli.kept import JSON, YES, agree, home_of, print_json, when, with_store
from hermes_core.clock import SystemClock
from hermes_core.paths import write_whole
from hermes_core.store import upkeep
from hermes_core.store.sqlite import Store
from hermes_plugins._errors import SessionBusy, StoreError, UsageError

if TYPE_CHECKING:
    from hermes_core.store.transfer import Exported

_HOURS: Final = {"h": 1, "d": 24, "w": 7 * 24, "y": 365 * 24}
_SHOWN: Final = 20
"""Sessions that `prune` names when it asks; --dry-run names all."""


@click.command("delete")
@click.argument(
    "names", metavar="SESSION…", nargs=-1, required=True, shell_complete=values.sessions
)
@YES
@click.option("--export", "file", metavar="FILE", help="Write them to a new file first.")
@click.pass_context
def delete_sessions(ctx: click.Context, names: tuple[str, ...], yes: bool, file: str | None) -> int:
    """Forget sessions, all or none of them.

    Those of their sub-agents and their temporary files go too. Nothing brings them back but a file that
    was exported (with secrets masked).

    \b
    Examples:
      hermes sessions delete 20261130_101500_ab12cd
      hermes sessions delete taxes --export taxes.jsonl --yes
    """
    doomed, exported = with_store(ctx, lambda store: _chosen(store, names, keep=bool(file)))
    for one in doomed:
        if one.holder:
            raise _stays(SessionBusy(one.session.id, one.holder))
    _list(doomed, limit=len(doomed))
    if not agree(f"Delete {_counted(len(doomed))}? Nothing brings them back.", yes=yes):
        return 1
    if file:
        _write(ctx, file, exported)

    seen = [one.session for one in doomed]

    async def forget(store: Store) -> Sequence[str]:
        return await store.write(upkeep.delete, [one.id for one in seen], store.now(), seen)

    try:
        gone = with_store(ctx, forget)
    except StoreError as error:
        raise _stays(error) from error
    click.echo(f"Deleted {_counted(len(doomed))}.{_clear_up(ctx, gone)}")
    return 0


async def _chosen(
    store: Store, names: Sequence[str], *, keep: bool
) -> tuple[list[upkeep.Doomed], list[Exported]]:
    from hermes_core.naming import find_session
    from hermes_core.store import transfer

    ids = dict.fromkeys([(await find_session(store, name)).id for name in names])
    doomed = await store.read(upkeep.weigh, list(ids), store.now())
    family = dict.fromkeys(member for one in doomed for member in one.family) if keep else {}
    return doomed, [await store.read(transfer.export, member) for member in family]


def _stays(error: StoreError) -> StoreError:
    """The error of the store, with what to do about a deletion."""
    first = "End that first; n" if isinstance(error, SessionBusy) else "N"
    return StoreError(error.message, hint=f"{first}othing was deleted.")


def _write(ctx: click.Context, file: str, exported: Sequence[Exported]) -> None:
    """Write a file that is not there yet, and have it on the disk."""
    from hermes_core.cli.sessions_files import file_of

    if os.path.lexists(file):
        raise UsageError(f"{file} is there already.", hint="Nothing was deleted.")
    write_whole(Path(file), file_of(ctx, exported))
    tell(f"Written to {file}; `hermes sessions import {file}` brings them back.\n")


@click.command("prune")
@click.option("--older-than", metavar="AGE", required=True, help="Unused for 48h, 90d, 12w or 1y.")
@click.option("--keep-titled", is_flag=True, help="Keep those whose title a person chose.")
@click.option("--dry-run", is_flag=True, help="Only tell what would go.")
@YES
@JSON
@click.pass_context
def prune_sessions(
    ctx: click.Context, older_than: str, keep_titled: bool, dry_run: bool, yes: bool, as_json: bool
) -> int:
    """Forget sessions that nobody used for a while.

    Never one that a process is writing. Those of sub-agents go with the one they worked for.

    \b
    Examples:
      hermes sessions prune --older-than 90d --keep-titled --dry-run
      hermes sessions prune --older-than 1y --yes
    """
    age = _seconds(older_than)

    async def look(store: Store) -> list[upkeep.Doomed]:
        now = store.now()
        ids = await store.read(upkeep.stale, now.time - age, keep_titled)
        return await store.read(upkeep.weigh, ids, now)

    found = with_store(ctx, look)
    doomed = [one for one in found if not one.holder]
    lines, gone = [], list[str]()
    if len(found) > len(doomed):
        lines.append(f"{_counted(len(found) - len(doomed))} in use, which stay.")
    if not as_json:
        _list(doomed, limit=len(doomed) if dry_run else _SHOWN)
    if not doomed:
        lines.append("Nothing to prune.")
    elif dry_run:
        lines.append(f"{_amount(doomed)} would go. Nothing was deleted.")
    else:
        if not agree(f"Delete {_amount(doomed)}?", yes=yes):
            return 1
        gone = with_store(ctx, lambda store: _pruned(store, doomed))
        went = [one for one in doomed if one.session.id in set(gone)]
        lines.append(f"Deleted {_amount(went)}.{_clear_up(ctx, gone)}")
        if len(went) < len(doomed):
            lines.append(f"{_counted(len(doomed) - len(went))} used in the meantime, which stay.")
    if as_json:
        print_json({"v": 1, "dry_run": dry_run, "found": found, "deleted": gone})
    else:
        click.echo("\n".join(lines))
    return 0


async def _pruned(store: Store, doomed: Sequence[upkeep.Doomed]) -> list[str]:
    """Each is a transaction of its own: others may write in between, and a kill leaves whole ones."""
    gone: list[str] = []
    for one in doomed:
        gone += await store.write(upkeep.prune, one.session, store.now())
    return gone


def _amount(doomed: Sequence[upkeep.Doomed]) -> str:
    size = upkeep.megabytes(sum(one.bytes for one in doomed))
    return f"{_counted(len(doomed))} ({size} of messages)"


def _seconds(age: str) -> float:
    match = re.fullmatch(r"(\d{1,5})\s*([hdwy])", age.strip().lower())
    if match is None or not int(match[1]):
        raise UsageError(f"{age!r} is no age.", hint="Say 48h, 90d, 12w or 1y.")
    return int(match[1]) * _HOURS[match[2]] * 3600.0


def _list(doomed: Sequence[upkeep.Doomed], *, limit: int) -> None:
    for one in doomed[:limit]:
        info = one.session
        more = f"  and {len(one.family) - 1} of sub-agents" if len(one.family) > 1 else ""
        title = clean_output(info.title or "(no title)")
        click.echo(
            f"{info.id}  {when(info.updated)}  {upkeep.megabytes(one.bytes):>9}  {title}{more}"
        )
    if len(doomed) > limit:
        click.echo(f"… and {len(doomed) - limit} more; --dry-run names all.")


def _counted(count: int) -> str:
    return f"{count} session{'' if count == 1 else 's'}"


def _clear_up(ctx: click.Context, gone: Sequence[str]) -> str:
    """Remove what was beside the sessions, and give space back where that is safe; in words."""
    paths = home_of(ctx)
    upkeep.forget_folders(paths.cache, gone)
    told = upkeep.shrink(paths.home / "state.db", SystemClock().now())
    return f" {told}" if told else ""
