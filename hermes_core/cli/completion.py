"""Completion of command lines in bash, zsh and fish: the scripts, and the answers to what they ask.

The scripts are click's own; at each Tab they run ``hermes`` with the line in COMP_WORDS and what they
want in the variable below. An answer is a process of its own, so it has to be cheap: the names of
commands come from the table, and nothing is imported but the command that the line names.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from hermes_plugins._errors import UsageError

if TYPE_CHECKING:
    from click.shell_completion import ShellComplete

VARIABLE: Final = "_HERMES_COMPLETE"
SHELLS: Final = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that has a shell complete commands, options and values of hermes.

    \b
    Examples:
      eval "$(hermes completion bash)"         now; in ~/.bashrc, from now on
      hermes completion zsh > ~/.zfunc/_hermes
      hermes completion fish > ~/.config/fish/completions/hermes.fish
    """
    kind = _kind(shell)
    asked = kind(ctx.find_root().command, {}, "hermes", VARIABLE)
    script = asked.source_template % asked.source_vars()
    # Else fish shows no more of a help than what stands before its first comma.
    script = script.replace('string split "," $completion', 'string split -m 1 "," $completion')
    click.echo(script.strip())


def answer(group: click.Command, instruction: str) -> int:
    """Print what a shell's script asked for; returns an exit status.

    A prompt is no place for an error: what goes wrong is in the log, and nothing is offered.
    """
    shell, _, verb = instruction.partition("_")
    if verb != "complete" or shell not in SHELLS:
        raise UsageError(f"{VARIABLE} is {instruction!r}.", hint="`hermes completion --help`")
    sys.stdout.write(_kind(shell)(group, {}, "hermes", VARIABLE).complete() + "\n")
    return 0


def _kind(shell: str) -> type[ShellComplete]:
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(f"this click has no completion for {shell}.", hint="Update click.")
    return kind
