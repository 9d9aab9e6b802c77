"""``hermes profile``: homes of their own."""

from __future__ import annotations

import click

from hermes_plugins import CommandHost


@click.group("profile", short_help="Homes of their own that share nothing.")
def command() -> None:
    """Homes of their own: settings, sessions, memories, plugins, nothing shared.

    `hermes -p NAME` uses one, else HERMES_PROFILE names it, else `hermes profile use` chose it, else
    it is the home itself, which is called `default` here.

    \b
    Examples:
      hermes profile create work
      hermes -p work
      hermes profile use work
    """


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def list_profiles(host: CommandHost, as_json: bool) -> None:
    """Every profile, and which one this call would use.

    \b
    Example:
      hermes profile list --json
    """
    from . import profiles

    profiles.show(host, as_json=as_json)


@command.command("create")
@click.argument("name")
@click.pass_obj
def create(host: CommandHost, name: str) -> None:
    """Make an empty profile.

    \b
    Example:
      hermes profile create work
    """
    from . import profiles

    profiles.create(host, name)


@command.command("clone")
@click.argument("source")
@click.argument("name")
@click.option("--sessions", is_flag=True, help="Also what was said.")
@click.option("--secrets", is_flag=True, help="Also keys and tokens.")
@click.pass_obj
def clone(host: CommandHost, source: str, name: str, *, sessions: bool, secrets: bool) -> None:
    """Make a profile like another: settings, memories, skills, plugins.

    \b
    Examples:
      hermes profile clone default work
      hermes profile clone work trial --sessions --secrets
    """
    import asyncio

    from . import profiles

    asyncio.run(profiles.clone(host, source, name, sessions=sessions, secrets=secrets))


@command.command("use")
@click.argument("name")
@click.pass_obj
def use(host: CommandHost, name: str) -> None:
    """Use a profile from now on where none is named; `default` is the home itself.

    \b
    Example:
      hermes profile use work
    """
    from . import profiles

    profiles.use(host, name)


@command.command("delete")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def delete(host: CommandHost, name: str, yes: bool) -> None:
    """Delete a profile and everything in it, after asking.

    \b
    Example:
      hermes profile delete work
    """
    from . import profiles

    profiles.delete(host, name, yes=yes)
