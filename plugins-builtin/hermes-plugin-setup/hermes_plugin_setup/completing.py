"""A line with completion. Importing this fails where prompt_toolkit is not installed."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import FuzzyWordCompleter
from prompt_toolkit.output import DummyOutput, create_output
from prompt_toolkit.shortcuts import CompleteStyle

from .asking import ask


def complete(question: str, names: Sequence[str], *, default: str) -> str:
    """As `asking.ask`; Tab completes from ``names``.

    Raises:
        click.Abort: Ctrl-C or Ctrl-D.
    """
    output = create_output(stdout=sys.stdout)
    if not names or isinstance(output, DummyOutput):
        return ask(question, default=default)
    shown = f"{question} (Tab completes) [{default}]: " if default else f"{question}: "
    session: PromptSession[str] = PromptSession(
        completer=FuzzyWordCompleter(list(names), WORD=True),
        complete_while_typing=False,
        complete_style=CompleteStyle.MULTI_COLUMN,
        output=output,
    )
    try:
        typed = session.prompt(shown).strip()
    except (KeyboardInterrupt, EOFError):
        raise click.Abort from None
    return typed or default
