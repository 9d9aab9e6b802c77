"""``hermes doctor``: what is wrong, and what mends it. The checks stand in ``examination.py``."""

from __future__ import annotations

import click

from hermes_plugins import CommandHost


@click.command("doctor", short_help="Look for what is wrong, and say what mends it.")
@click.option("--fix", is_flag=True, help="Mend what can be mended without losing anything.")
@click.option(
    "--no-turn", is_flag=True, help="Do not ask the model anything; it costs a few tokens."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def command(host: CommandHost, fix: bool, no_turn: bool, as_json: bool) -> int:
    """Look for what is wrong, and say what mends it; exit status 1 when something does not work.

    It looks at the home, the settings, the plugins, the installation and the database, asks the chosen
    model for its list of models, and runs one real turn: the model is to read a file in an empty folder
    with a tool. It changes nothing without --fix.

    \b
    Examples:
      hermes doctor
      hermes doctor --fix
      hermes doctor --no-turn --json
    """
    import asyncio
    import shutil
    import sys

    from .examination import Wanted, examine
    from .report import as_data, closing, lines

    wanted = Wanted(fix=fix, turn=not no_turn)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0

    async def run() -> int:
        parts = []
        async for part in examine(host, wanted):
            parts.append(part)
            if not as_json:
                click.echo(host.redact(lines(part, width=width)))
        if as_json:
            click.echo(host.redact(as_data(host, parts)))
        else:
            click.echo(closing(parts, fix=fix))
        return int(any(one.level == "fail" for part in parts for one in part.left))

    return asyncio.run(run())
