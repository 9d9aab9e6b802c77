"""``hermes backup``: the home as one file."""

from __future__ import annotations

from pathlib import Path

import click

from hermes_plugins import CommandHost


@click.command("backup", short_help="Write the home to one file.")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--secrets", is_flag=True, help="Also keys and tokens: .env and what is like it.")
@click.option("--quick", is_flag=True, help="Without the sessions (state.db): small and at once.")
@click.pass_obj
def command(host: CommandHost, file: Path | None, *, secrets: bool, quick: bool) -> None:
    """Write settings, memories, skills, plugins, scheduled work and sessions to a zip file.

    Without FILE it goes to this folder, under the date. Others may go on writing meanwhile. Caches,
    logs and other profiles are left out, secrets too unless you ask for them.

    \b
    Examples:
      hermes backup
      hermes backup ~/backups/ --secrets
      hermes -p work backup work.zip --quick
    """
    import asyncio

    from .making import make_backup

    made = asyncio.run(make_backup(host, file, secrets=secrets, quick=quick))
    for line in made.lines():
        click.echo(line)
