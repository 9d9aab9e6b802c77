"""``hermes version``."""

from __future__ import annotations

import click

from hermes_core import __version__


@click.command("version")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """Print the version.

    \b
    Example:
      hermes version
    """
    click.echo(f'{{"version": "{__version__}"}}' if as_json else f"hermes {__version__}")
