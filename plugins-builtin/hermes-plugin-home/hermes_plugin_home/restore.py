"""``hermes restore``: a backup back into the home."""

from __future__ import annotations

from pathlib import Path

import click

from hermes_plugins import CommandHost


@click.command("restore", short_help="Put back what `hermes backup` wrote.")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask before something is replaced.")
@click.option("--dry-run", is_flag=True, help="Only check the backup and show what would change.")
@click.pass_obj
def command(host: CommandHost, file: Path | None, *, yes: bool, dry_run: bool) -> None:
    """Put back what `hermes backup` wrote; what is replaced is kept in a folder of the home.

    What is not in the backup stays as it is. One that was cut off is finished first; without FILE
    that is all.

    \b
    Examples:
      hermes restore hermes-backup-20261130-101500.zip --dry-run
      hermes -p work restore work.zip
    """
    from .restoring import restore

    restore(host, file, yes=yes, dry_run=dry_run)
