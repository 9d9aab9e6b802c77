"""``hermes skills``: the skill packs of the home. Finding them stands in ``skills.py``."""

from __future__ import annotations

import click

from hermes_plugins import CommandHost


@click.group("skills", invoke_without_command=True, short_help="The skill packs of this home.")
@click.pass_context
def command(ctx: click.Context) -> None:
    """The skill packs of this home, and which of them sessions are to begin with.

    Hermes does not load skills by itself yet: the choice is kept for when it does. To use one now, say
    to the agent: follow PATH.

    \b
    Examples:
      hermes skills
      hermes skills enable release-notes
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_skills, as_json=False)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def list_skills(host: CommandHost, as_json: bool) -> None:
    """Every pack: a folder with a SKILL.md in the home's skills/ or in skills.dirs.

    \b
    Example:
      hermes skills list --json
    """
    from .skills import as_data, find, lines

    packs = find(host)
    click.echo(as_data(packs) if as_json else "\n".join(lines(host, packs)))


@command.command("enable")
@click.argument("name")
@click.pass_obj
def enable(host: CommandHost, name: str) -> None:
    """Put a skill into skills.names, which sessions will begin with.

    \b
    Example:
      hermes skills enable release-notes
    """
    from .skills import switch

    click.echo(switch(host, name, on=True))


@command.command("disable")
@click.argument("name")
@click.pass_obj
def disable(host: CommandHost, name: str) -> None:
    """Take a skill out of skills.names; the pack stays where it is.

    \b
    Example:
      hermes skills disable release-notes
    """
    from .skills import switch

    click.echo(switch(host, name, on=False))
