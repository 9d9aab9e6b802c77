"""``hermes uninstall-data``: everything that Hermes has kept, gone."""

from __future__ import annotations

from pathlib import Path

import click

from hermes_plugins import CommandHost


@click.command("uninstall-data", short_help="Delete what Hermes keeps on this machine.")
@click.option("--yes", is_flag=True, help="Do not ask, and make no backup.")
@click.option(
    "--everything", is_flag=True, help="Also what in the folder is not known to be of Hermes."
)
@click.option(
    "--backup",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="First write a backup there, with the secrets.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be deleted.")
@click.pass_obj
def command(
    host: CommandHost, *, yes: bool, everything: bool, backup: Path | None, dry_run: bool
) -> None:
    """Delete what Hermes has kept on this machine: settings, keys, sessions, memories, profiles.

    It shows everything first, offers a backup, and asks for a word. The program itself is removed
    with pip.

    \b
    Examples:
      hermes uninstall-data --dry-run
      hermes uninstall-data --backup ~/hermes-last.zip
    """
    from .deleting import uninstall

    uninstall(host, yes=yes, everything=everything, backup=backup, dry_run=dry_run)
