"""A first run at a terminal without any model: one question, whether to set one up now.

Asked once a home, whatever the answer, and only where a plugin offers `hermes setup`. Nobody is asked
in a script or a pipe, nor where the settings or the call name a model: what is wrong then is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_core.cli.console import is_terminal, tell
from hermes_core.cli.lines import Lines

if TYPE_CHECKING:
    from typing import TextIO

    from hermes_core.runtime import Runtime

QUESTION = "No model is connected yet. Run setup now? [Y/n] "
_ASKED = "setup"


async def wants_setup(runtime: Runtime, out: TextIO) -> bool:
    """Ask, where that is to be asked; True for a yes."""
    offered = [
        one
        for one in runtime.host.found
        if (one.group, one.name) == ("hermes.commands", "setup") and not runtime.host.why_off(one)
    ]
    if not (offered and is_terminal(out)) or await runtime.router().is_connected():
        return False
    records = runtime.store.records("first_run")
    if await records.get(_ASKED) is not None:
        return False
    answer = await Lines().read(QUESTION)
    await records.put(_ASKED, {"time": runtime.clock.now()})
    if answer is None:  # Ctrl-D: no answer is no
        tell("\n")
        return False
    return answer.strip().lower() in ("", "y", "yes")


def run_setup(ctx: click.Context) -> int:
    """`hermes setup` in this process, on the same home; returns its exit status."""
    from hermes_core.cli.app import run

    profile = ctx.find_root().params.get("profile", "")
    return run([*(["--profile", profile] if profile else []), "setup"])
