"""One real turn: what was written leads to an answer."""

from __future__ import annotations

import click

from hermes_plugins import CommandHost, HermesError, SessionWish, TextDelta, TurnEnded

from .asking import clean, say

GREETING = "Say hello."


async def greet(host: CommandHost) -> bool:
    """Ask for a greeting and show the answer; True when there is one."""
    async with host.open() as face:
        session = await face.open(SessionWish(interactive=False))
        try:
            say(f"> {GREETING}")
            end: TurnEnded | None = None
            async with session.run(GREETING) as run:
                async for event in run:
                    if isinstance(event, TextDelta):
                        click.echo(clean(event.text), nl=False)
                    elif isinstance(event, TurnEnded):
                        end = event
        finally:
            await session.close()
    say()
    if end is None or end.outcome != "completed":
        raise HermesError(
            (end.reason if end is not None else "") or "There was no answer.",
            hint=end.hint if end is not None else "",
        )
    say(f"{end.model or session.model} answered in {end.seconds:.1f} s.")
    return True
