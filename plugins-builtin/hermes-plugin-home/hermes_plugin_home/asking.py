"""Asking the person before something is replaced or deleted."""

from __future__ import annotations

import click

from hermes_plugins import UsageError


def agreed(question: str) -> bool:
    """Whether they say yes; nothing said is no.

    Raises:
        UsageError: nobody is there to say it.
    """
    return answer(f"{question} [y/N]").strip().lower() in ("y", "yes")


def answer(question: str) -> str:
    """What they say.

    Raises:
        UsageError: nobody is there to say it.
    """
    try:
        said: str = click.prompt(question, default="", show_default=False)
    except click.Abort:
        click.echo(err=True)
        raise UsageError(
            "nobody answered, so nothing was done.", hint="--yes goes on without asking."
        ) from None
    return said
