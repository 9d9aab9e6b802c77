"""``hermes model``: what is used, another one, what there is, and whether it answers.

The work stands in ``models.py``, ``listing.py`` and ``probing.py``.
"""

from __future__ import annotations

import click

from hermes_plugins import CommandHost, UsageError

_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


class _Models(click.Group):
    """A word that is no command is the name of a model."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands:
            args = ["set", *args]
        return super().resolve_command(ctx, args)


@click.group(
    "model", cls=_Models, invoke_without_command=True, short_help="See, change and try the model."
)
@_as_json
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """See, change and try the model; alone it shows what is used now.

    A word that is no command is a model to use from now on.

    \b
    Examples:
      hermes model
      hermes model openrouter/openai/gpt-6-luna
      hermes model list ollama
      hermes model probe
    """
    if ctx.invoked_subcommand is None:
        from .models import show

        host: CommandHost = ctx.obj
        show(host, as_json=as_json)
    elif as_json:
        raise UsageError(
            "--json stands in front of the command.",
            hint=f"`hermes model {ctx.invoked_subcommand} --json`",
        )


@command.command("set")
@click.argument("model", metavar="[PROVIDER/]MODEL")
@click.option("--force", is_flag=True, help="Take a name that the provider does not list.")
@click.pass_obj
def set_(host: CommandHost, model: str, force: bool) -> None:
    """Use a model from now on. `set` may be left out.

    \b
    Examples:
      hermes model set openai/gpt-6-luna
      hermes model set qwen3:8b --force
    """
    from .models import use

    use(host, model, force=force)


@command.command()
@click.pass_obj
def pick(host: CommandHost) -> None:
    """Choose a provider and a model from lists.

    \b
    Example:
      hermes model pick
    """
    from .models import choose

    choose(host)


@command.command("list")
@click.argument("provider", required=False, metavar="[PROVIDER]")
@_as_json
@click.pass_obj
def list_(host: CommandHost, provider: str | None, as_json: bool) -> int:
    """The models that providers offer now; without PROVIDER, of all that can be used.

    \b
    Examples:
      hermes model list
      hermes model list openrouter --json
    """
    from .listing import show_list

    return show_list(host, provider or "", as_json=as_json)


@command.command()
@click.argument("model", required=False, metavar="[[PROVIDER/]MODEL]")
@_as_json
@click.pass_obj
def probe(host: CommandHost, model: str | None, as_json: bool) -> int:
    """Send the smallest real request, and tell where it went and how it was answered.

    Where the address is wrong by a /v1, the right one is found and offered.

    \b
    Examples:
      hermes model probe
      hermes model probe ollama/qwen3:8b
    """
    from .probing import try_out

    return try_out(host, model or "", as_json=as_json)
