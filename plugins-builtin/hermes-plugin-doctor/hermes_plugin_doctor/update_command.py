"""``hermes update``: the newest version. What it does stands in ``updating.py``."""

from __future__ import annotations

import click

from hermes_plugins import CommandHost

NEWER = 3
"""Exit status of ``--check`` when there is something newer."""


@click.command("update", short_help="Bring Hermes and its plugins up to date.")
@click.option(
    "--check", is_flag=True, help="Only say what is newer; exit status 3 when something is."
)
@click.option("--dry-run", is_flag=True, help="Show everything that would be done.")
@click.option(
    "--force", is_flag=True, help="Also when a plugin of somebody else stops working with it."
)
@click.pass_obj
def command(host: CommandHost, check: bool, dry_run: bool, force: bool) -> int:
    """Bring Hermes and the plugins that belong to it up to date, with pip or uv.

    Traces of an update that was cut off are cleaned up. Plugins of others stay as they are; `hermes
    plugins install` brings those up to date.

    \b
    Examples:
      hermes update --check
      hermes update
    """
    from .updating import Update

    update = Update(host)
    for line in update.lines():
        click.echo(line)
    if check:
        return NEWER if update.plan else 0
    if dry_run:
        return 0
    update.refuse_breaking(force=force)
    for line in update.run():
        click.echo(line)
    return 0
