"""``hermes usage``: tokens and cost. Counting stands in ``totals.py``."""

from __future__ import annotations

import click

from hermes_plugins import CommandHost


@click.command("usage")
@click.option(
    "--by",
    type=click.Choice(["model", "day", "session"]),
    default="model",
    show_default=True,
    help="What makes a line.",
)
@click.option(
    "--days",
    type=click.IntRange(1, 36_500),
    default=30,
    show_default=True,
    help="How far back: sessions that were used since then.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def command(host: CommandHost, by: str, days: int, as_json: bool) -> None:
    """Tokens and cost of the sessions of this home.

    \b
    Examples:
      hermes usage
      hermes usage --by day --days 7
    """
    import asyncio

    from .totals import count, table

    totals = asyncio.run(count(host, by=by, days=days))
    if as_json:
        import json

        click.echo(json.dumps([one.plain() for one in totals], ensure_ascii=False, indent=2))
    else:
        click.echo(table(totals, days=days))
