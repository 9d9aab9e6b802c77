"""``hermes logs``: the last lines of a log, and those that come. Reading stands in ``logs.py``."""

from __future__ import annotations

import click

from hermes_plugins import CommandHost


@click.command("logs")
@click.argument("name", type=click.Choice(["hermes", "audit", "gateway"]), default="hermes")
@click.option(
    "-n", "--lines", type=click.IntRange(0), default=50, show_default=True, help="How many."
)
@click.option("-f", "--follow", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@click.option(
    "--level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="debug",
    help="Only this and what is worse.",
)
@click.option("--session", default="", metavar="ID", help="Only of that session.")
@click.option("--since", default="", metavar="WHEN", help="30m, 2h, 3d, or 2026-11-30T10:15.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object a line.")
@click.pass_obj
def command(
    host: CommandHost,
    name: str,
    lines: int,
    follow: bool,
    level: str,
    session: str,
    since: str,
    as_json: bool,
) -> None:
    """The last lines of a log. Secrets are masked.

    hermes (the default) is what the program says of itself; audit is what the gate decided about each
    call; gateway is the gateway's part of hermes.

    \b
    Examples:
      hermes logs -n 200 --level warning
      hermes logs audit --session 20261130_101500_ab12cd
      hermes logs gateway -f
    """
    import asyncio

    from .logs import Log, Wanted, moment

    now = host.clock.now()
    wanted = Wanted(level=level, session=session, since=moment(since, now) if since else 0.0)
    log = Log(host.paths.logs, name, wanted)

    def show(records: list[str]) -> None:
        for record in records:
            click.echo(host.redact(record))

    async def watch() -> None:
        while True:
            await host.clock.sleep(0.3)
            show([one.shown(as_json=as_json) for one in log.new()])

    show([one.shown(as_json=as_json) for one in log.last(lines)])
    if not log.exists and not follow:
        click.echo(f"There is no log yet: {log.file}", err=True)
    elif log.exists and log.shown == 0 and lines:
        click.echo(f"Nothing fits in {log.file}.", err=True)
    if follow:
        asyncio.run(watch())
