"""``hermes setup``: the work stands in ``wizard.py``, and in ``unattended.py`` where nobody is asked."""

from __future__ import annotations

import click

from hermes_plugins import CommandHost, UsageError

from . import PARTS


@click.command("setup")
@click.argument("section", required=False, type=click.Choice(PARTS), metavar="[SECTION]")
@click.option("--quick", is_flag=True, help="A model; the rest as it is recommended.")
@click.option("--full", is_flag=True, help="Every section, in order.")
@click.option("--blank", is_flag=True, help="A model, and everything off but what a chat needs.")
@click.option(
    "--non-interactive",
    "unattended",
    is_flag=True,
    help="Ask nothing: take what the environment gives, and tell what is missing (status 1).",
)
@click.option(
    "--keep-keys", is_flag=True, help="With --non-interactive: copy the key it finds to .env."
)
@click.pass_context
def command(
    ctx: click.Context,
    section: str | None,
    *,
    quick: bool,
    full: bool,
    blank: bool,
    unattended: bool,
    keep_keys: bool,
) -> int:
    """Set Hermes up: a model first, then whatever you like.

    SECTION is one of model, speech, terminal, gateway, tools, agent; plugins add their questions to
    these. Everything is asked before anything is written, and the old hermes.yaml is kept beside the
    new one.

    \b
    Examples:
      hermes setup
      hermes setup --quick
      hermes setup gateway
      OPENROUTER_API_KEY=… hermes setup --non-interactive --keep-keys
    """
    host: CommandHost = ctx.obj
    ways = [name for name, on in (("quick", quick), ("full", full), ("blank", blank)) if on]
    if len(ways) > 1 or (ways and section):
        both = " and ".join([*(f"--{one}" for one in ways), *([section] if section else [])])
        raise UsageError(f"{both} are two ways in.", hint="Leave one out.")
    if keep_keys and not unattended:
        raise UsageError(
            "--keep-keys belongs to --non-interactive.",
            hint="`hermes config set NAME` writes a key to .env.",
        )
    way = section or "".join(ways)
    if unattended:
        from .unattended import run as run_unattended

        parts = (section,) if section else PARTS if full else ("model",)
        return run_unattended(host, parts=parts, blank=blank, keep_keys=keep_keys)
    from .asking import need_person
    from .wizard import run

    need_person(
        "`hermes setup`", "`hermes setup --non-interactive` takes what the environment gives."
    )
    return run(host, way)
