"""``hermes tools``: which toolsets a face gets. The list itself stands in ``tools.py``."""

from __future__ import annotations

import asyncio
import sys

import click

from hermes_plugins import CommandHost

_face = click.option(
    "--face", default="", metavar="NAME", help="cli (the default), api-server, irc, cron, …"
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("tools", invoke_without_command=True, short_help="Which toolsets a face gets.")
@_face
@click.pass_context
def command(ctx: click.Context, face: str) -> None:
    """Which toolsets a face gets: a checklist at a terminal, else a list.

    \b
    Examples:
      hermes tools
      hermes tools list --face cron
      hermes tools disable web --face telegram
    """
    host: CommandHost = ctx.obj
    ctx.obj = (host, face)
    if ctx.invoked_subcommand is not None:
        return
    if sys.stdin.isatty() and sys.stdout.isatty():
        _checklist(host, face or "cli")
    else:
        _list(host, face or "cli", as_json=False)


@command.command("list")
@_face
@_json
@click.pass_obj
def list_tools(given: tuple[CommandHost, str], face: str, as_json: bool) -> None:
    """Every installed toolset, whether the face gets it, and why not.

    \b
    Example:
      hermes tools list --face cron --json
    """
    host, outer = given
    _list(host, face or outer or "cli", as_json=as_json)


@command.command("enable")
@click.argument("toolset")
@_face
@click.pass_obj
def enable(given: tuple[CommandHost, str], toolset: str, face: str) -> None:
    """Give a face a toolset, from its next session on.

    \b
    Example:
      hermes tools enable web --face telegram
    """
    host, outer = given
    _switch(host, toolset, face or outer or "cli", on=True)


@command.command("disable")
@click.argument("toolset")
@_face
@click.pass_obj
def disable(given: tuple[CommandHost, str], toolset: str, face: str) -> None:
    """Take a toolset from a face, from its next session on.

    \b
    Example:
      hermes tools disable terminal --face telegram
    """
    host, outer = given
    _switch(host, toolset, face or outer or "cli", on=False)


def _list(host: CommandHost, face: str, *, as_json: bool) -> None:
    from .tools import Faces, as_data, lines, read

    faces, states = Faces(host, face), asyncio.run(read(host))
    click.echo(as_data(faces, states) if as_json else "\n".join(lines(faces, states)))


def _switch(host: CommandHost, toolset: str, face: str, *, on: bool) -> None:
    from .tools import Faces, read, switch

    click.echo(switch(Faces(host, face), asyncio.run(read(host)), toolset, on=on))


def _checklist(host: CommandHost, face: str) -> None:
    """Numbers switch, an empty line leaves; each is written at once."""
    from hermes_plugins import UsageError

    from .tools import Faces, lines, read, switch

    while True:
        states, faces = asyncio.run(read(host)), Faces(host, face)
        click.echo("\n".join(lines(faces, states, numbered=True)))
        try:
            said = click.prompt("Number to switch, Enter to leave", default="", show_default=False)
        except click.Abort:
            click.echo()
            return
        if said.strip().lower() in ("", "q", "quit", "exit"):
            return
        if not (said.strip().isdecimal() and 1 <= int(said) <= len(states)):
            click.echo(f"{said!r} is none of 1 to {len(states)}.\n")
            continue
        one = states[int(said) - 1]
        try:
            click.echo(switch(faces, states, one.name, on=not faces.gets(one)) + "\n")
        except UsageError as error:
            click.echo(f"{error}\n")
