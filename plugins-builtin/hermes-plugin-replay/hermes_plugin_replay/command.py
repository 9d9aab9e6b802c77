"""``hermes replay``: a session once more, on the screen or as a test."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hermes_plugins import CommandHost, UsageError


@click.command("replay", short_help="Show a session again, or make a test of it.")
@click.argument("session")
@click.option(
    "--speed",
    type=click.FloatRange(0.01, 1000),
    metavar="FACTOR",
    help="At this pace: 1 as it was, 10 ten times as fast; pauses are 2 s at most. Without: at once.",
)
@click.option("--json", "as_json", is_flag=True, help="Print every event as one line of JSON.")
@click.option(
    "--as-test",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a pytest file that plays the session with the real tools; - prints it.",
)
@click.option(
    "--with",
    "given",
    multiple=True,
    metavar="PATH",
    help="A file or folder of the session's folder that the test begins with; may be given again.",
)
@click.pass_obj
def command(
    host: CommandHost,
    session: str,
    *,
    speed: float | None,
    as_json: bool,
    as_test: Path | None,
    given: tuple[str, ...],
) -> None:
    """Show a session again, or make a test of it (id, beginning of an id, or title).

    The test runs the same messages against the model's recorded answers, in a scratch folder, and
    expects the same tool calls and the same files. What reaches out of the folder is refused.

    \b
    Examples:
      hermes replay 20261130_101500_ab12cd --speed 2
      hermes replay 20261130_101500_ab12cd --json | jq .type
      hermes replay 20261130_101500_ab12cd --as-test test_notes.py --with notes.txt
    """
    import asyncio

    if as_test is None:
        if given:
            raise UsageError("--with goes with --as-test.", hint="`hermes replay --help`")
        asyncio.run(_show(host, session, speed=speed or 0.0, as_json=as_json))
        return
    if as_json or speed:
        raise UsageError("--as-test writes a file; it goes without --json and --speed.")
    from .writing import write_test

    write_test(host, session, file=as_test, given=given)


async def _show(host: CommandHost, name: str, *, speed: float, as_json: bool) -> None:
    from . import showing
    from .finding import found_session
    from .keeping import read
    from .turns import events_of

    async with host.open() as face:
        info = await found_session(face.sessions, name)
        messages = await face.sessions.messages(info.id)
        turns, kept = events_of(info, messages, read(host.paths, info.id))
        events = [event for turn in turns for event in turn]
        flushes = bool(speed)
        shows: showing.Shows = showing.Json(sys.stdout.buffer, flushes=flushes)
        if not as_json:
            note = "" if kept == len(turns) else _note(kept, len(turns))
            shows = showing.Lines(sys.stdout, flushes=flushes)
            click.echo(f"{info.id}  {showing.clean(info.title)}  {info.model}{note}".rstrip())
        await showing.play(events, shows.show, clock=face.host.clock, speed=speed)


def _note(kept: int, turns: int) -> str:
    if not turns:
        return "\nNothing was said in it."
    which = "" if kept == 0 else f", {turns - kept} of {turns} turns"
    return f"\n(made from its messages{which}; `plugins.replay.keep` keeps questions and times too)"
