"""``hermes version``."""

from __future__ import annotations

import click

from hermes_core import __version__


@click.command("version")
def command() -> None:
    """Print the version.

    \b
    Example:
      hermes version
    """
    click.echo(f"hermes {__version__}")
