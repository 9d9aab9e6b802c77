"""``hermes digest``: what you worked on lately."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import datetime

import click

from hermes_plugins import CommandHost, SessionInfo, UsageError

DAY = 86_400.0


@click.command("digest")
@click.option("--days", type=click.IntRange(1, 365), default=7, show_default=True)
@click.option(
    "--folder", default="", metavar="WORD", help="Sessions in folders with that word only."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def command(host: CommandHost, days: int, folder: str, as_json: bool) -> None:
    """What you worked on lately, by day.

    \b
    Examples:
      hermes digest
      hermes digest --days 30 --folder website
    """
    used = asyncio.run(lately(host, days=days))
    found = [one for one in used if folder in one.workspace]
    if used and not found:
        raise UsageError(f"no session in a folder with {folder!r}.", hint="hermes digest")
    rows = [{"day": day_of(one), "title": one.title, "folder": one.workspace} for one in found]
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    for row in rows:
        click.echo(f"{row['day']}  {row['title'] or '(no title)'}  {row['folder']}")
    if not rows:
        click.echo(f"Nothing in the last {days} days.")


async def lately(host: CommandHost, *, days: int) -> Sequence[SessionInfo]:
    """The sessions of these days, the newest first."""
    since = host.clock.now() - days * DAY
    async with host.open() as face:
        return [one for one in await face.sessions.list(limit=500) if one.updated >= since]


def day_of(info: SessionInfo) -> str:
    """The day of its last use, in the time of this machine."""
    return datetime.fromtimestamp(info.updated).strftime("%Y-%m-%d")
