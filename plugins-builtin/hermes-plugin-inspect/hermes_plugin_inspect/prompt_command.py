"""``hermes prompt``: where the tokens of a request go. Measuring stands in ``prompt.py``."""

from __future__ import annotations

import click

from hermes_plugins import CommandHost


@click.command("prompt", short_help="Where the tokens of a request go.")
@click.option(
    "--session", default="", metavar="ID", help="Of that session (id or title), with its history."
)
@click.option(
    "--face", default="cli", show_default=True, help="What a new session of it begins with."
)
@click.option("--show", is_flag=True, help="Print the whole text that the model reads.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def command(host: CommandHost, session: str, face: str, show: bool, as_json: bool) -> None:
    """Where the tokens of a request go: tools, system prompt, memory, history.

    Sizes in tokens are estimates (one token for 4 bytes); what the provider itself has counted stands
    below them for a session that has been used.

    \b
    Examples:
      hermes prompt
      hermes prompt --session 20261130_101500_ab12cd
      hermes prompt --show > prompt.txt
    """
    import asyncio

    from .prompt import as_data, measured, read, table, whole

    request = asyncio.run(read(host, session=session, face=face))
    if show:
        click.echo(whole(request))
    elif as_json:
        click.echo(as_data(request))
    else:
        click.echo(table(request, measured(request)))
