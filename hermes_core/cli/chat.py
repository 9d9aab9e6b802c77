"""``hermes chat``: the plain line face, one-shot questions, and the event stream as JSON."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

import click

from hermes_core.cli.approver import LineApprover
from hermes_core.cli.console import is_terminal, print_error, reserve_stdout
from hermes_core.cli.context import paths_of, working_folder
from hermes_core.cli.face import AnswerFace, Face, JsonFace, PlainFace
from hermes_core.cli.lines import Lines
from hermes_core.config import process_environment
from hermes_plugins._errors import UsageError
from hermes_plugins._events import TurnEnded

if TYPE_CHECKING:
    from hermes_core.agent.agent import Session
    from hermes_core.runtime import Runtime

EXIT_STATUS = {"completed": 0, "interrupted": 130}
"""Every other outcome is a failure: 1."""
TERMINATED = 143
_CTRL_C = "\x03"


@click.command("chat")
@click.option("-q", "--query", metavar="TEXT", help="Ask once, print only the answer, and end.")
@click.option("-z", "oneshot", metavar="TEXT", help="The same as -q.")
@click.option("--json", "as_json", is_flag=True, help="Print every event as one line of JSON.")
@click.option("-r", "--resume", metavar="ID|TITLE", default="", help="Continue that session.")
@click.option("-c", "--continue", "latest", is_flag=True, help="Continue the newest session.")
@click.option("--fork", is_flag=True, help="Continue in a copy; the session itself stays as it is.")
@click.option("-m", "--model", metavar="[PROVIDER/]MODEL", default="", help="Use that model.")
@click.option("--provider", metavar="NAME", default="", help="Use that provider.")
@click.option("-t", "--toolsets", metavar="A,B", default="", help="Give it these tools only.")
@click.option(
    "--max-turns", type=click.IntRange(1), default=None, help="Model calls a message may take."
)
@click.option("--yolo", is_flag=True, help="Do not ask before risky calls (the hard floor stays).")
@click.option("--plugin", "modules", metavar="MODULE", multiple=True, help="Load a plugin module.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    query: str | None,
    oneshot: str | None,
    as_json: bool,
    modules: tuple[str, ...],
    **wishes: object,
) -> int:
    """Talk to the agent; `hermes` alone does the same.

    \b
    Examples:
      hermes                                  talk
      hermes chat -q "what is in this folder?"
      git diff | hermes -q "review this"
      hermes -c                               go on with the last session
      hermes --resume 20261130_101500_ab12cd -q "and then?"
    """
    text = _question(query if query is not None else oneshot, as_json=as_json)
    answer_only = text is not None
    out = reserve_stdout() if answer_only else sys.stdout
    chat = _Chat(ctx, out, text=text, as_json=as_json, modules=modules, wishes=wishes)
    try:
        return asyncio.run(chat.run())
    except asyncio.CancelledError:
        return chat.signal_status


def _question(query: str | None, *, as_json: bool) -> str | None:
    """The one-shot question, with what is piped in; None for a conversation.

    Raises:
        UsageError: there is nothing to ask.
    """
    if is_terminal(sys.stdin) or sys.stdin is None or (query is not None and not _has_input()):
        piped = ""
    else:
        piped = _read_stdin()
    if query is None and is_terminal(sys.stdin) and not as_json:
        return None
    text = "\n\n".join(part for part in (query or "", piped.strip("\n")) if part.strip())
    if not text:
        raise UsageError("there is no question.", hint='`hermes chat -q "…"`, or pipe it in.')
    return text


def _has_input() -> bool:
    """True when stdin is a pipe or file; a closed or inherited one is not waited for."""
    import os
    import stat

    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    if stat.S_ISREG(mode):
        return True
    if not stat.S_ISFIFO(mode):
        return False
    import select

    try:
        return bool(select.select([sys.stdin], [], [], 0)[0])
    except (OSError, ValueError):  # Windows cannot look into a pipe: reading it may wait
        return True


def _read_stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    except (OSError, ValueError, AttributeError):
        return ""


class _Chat:
    """One call of the command."""

    def __init__(
        self,
        ctx: click.Context,
        out: TextIO,
        *,
        text: str | None,
        as_json: bool,
        modules: tuple[str, ...],
        wishes: dict[str, object],
    ) -> None:
        self._ctx = ctx
        self._out = out
        self._text = text
        self._as_json = as_json
        self._modules = modules
        self._wishes = wishes
        self._lines = Lines()
        self._interrupt: Callable[[str], None] | None = None
        self._signalled = 0
        self._main: asyncio.Task[int] | None = None
        self._reading: asyncio.Future[str | None] | None = None

    @property
    def signal_status(self) -> int:
        """The exit status that says which signal ended the program."""
        return TERMINATED if self._signalled == signal.SIGTERM else EXIT_STATUS["interrupted"]

    async def run(self) -> int:
        from hermes_core.runtime import SessionWish, open_runtime

        self._main = asyncio.current_task()
        self._catch_signals()
        runtime = await open_runtime(
            paths_of(self._ctx),
            environ=process_environment(),
            cwd=working_folder(),
            modules=self._modules,
        )
        try:
            wishes = self._wishes
            session = await runtime.open_session(
                SessionWish(
                    face="cli",
                    interactive=self._text is None,
                    resume=str(wishes["resume"]),
                    latest=bool(wishes["latest"]),
                    fork=bool(wishes["fork"]),
                    model=str(wishes["model"]),
                    provider=str(wishes["provider"]),
                    toolsets=tuple(
                        filter(None, str(wishes["toolsets"]).replace(" ", "").split(","))
                    ),
                    max_turns=int(str(wishes["max_turns"] or 0)),
                    mode="off" if wishes["yolo"] else "",
                    approver=LineApprover(self._lines) if self._can_ask() else None,
                )
            )
            for note in runtime.config.notes:
                print_error(note)
            for problem in runtime.host.problems:
                print_error(f"{problem.plugin}: {problem.text}", hint=problem.hint)
            try:
                if self._text is not None:
                    return await self._turn(session, self._text, self._face(runtime))
                return await self._talk(session, self._face(runtime))
            finally:
                await session.close()
        finally:
            await runtime.close()

    def _can_ask(self) -> bool:
        return self._text is None and is_terminal(sys.stdin)

    def _face(self, runtime: Runtime) -> Face:
        if self._as_json:
            return JsonFace(self._out)
        if self._text is not None:
            return AnswerFace(self._out, sys.stderr)
        display = runtime.config.settings.display
        return PlainFace(self._out, sys.stderr, show_reasoning=display.show_reasoning)

    async def _turn(self, session: Session, text: str, face: Face) -> int:
        end: TurnEnded | None = None
        async with session.run(text) as run:
            self._interrupt = run.interrupt
            try:
                async for event in run:
                    face.show(event)
                    if isinstance(event, TurnEnded):
                        end = event
            finally:
                self._interrupt = None
        if self._signalled == signal.SIGTERM:
            return TERMINATED
        return EXIT_STATUS.get(end.outcome, 1) if end is not None else 1

    async def _talk(self, session: Session, face: Face) -> int:
        sys.stderr.write(f"Hermes, {session.model}. Ctrl-C interrupts, Ctrl-D leaves.\n")
        leaving = False
        while True:
            line = await self._next_line()
            if line == _CTRL_C:
                if leaving or self._signalled == signal.SIGTERM:
                    return 0
                leaving = True
                sys.stderr.write("\n(once more to leave)\n")
                continue
            leaving = False
            if line is None or line.strip() in ("/quit", "/exit"):
                sys.stderr.write(
                    f"\nThis was session {session.info.id}; `hermes -c` continues it.\n"
                )
                return 0
            if not line.strip():
                continue
            await self._turn(session, line, face)
            if self._signalled == signal.SIGTERM:
                return TERMINATED

    async def _next_line(self) -> str | None:
        """A line, or ``_CTRL_C`` when the person pressed that at the prompt.

        A line that is being waited for when that happens is still read by the next call.
        """
        loop = asyncio.get_running_loop()
        pressed: asyncio.Future[str | None] = loop.create_future()
        reading: asyncio.Future[str | None] = self._reading or loop.create_task(
            self._lines.read("> ")
        )

        def press(reason: str) -> None:
            if not pressed.done():
                pressed.set_result(None)

        self._interrupt = press
        try:
            await asyncio.wait({reading, pressed}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._interrupt = None
        self._reading = None if reading.done() else reading
        return reading.result() if reading.done() else _CTRL_C

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, self._on_signal, number)
            except NotImplementedError:  # Windows
                signal.signal(
                    number,
                    lambda got, frame: loop.call_soon_threadsafe(self._on_signal, got) and None,
                )

    def _on_signal(self, number: int) -> None:
        """The first one interrupts what runs; one more ends the program."""
        self._signalled = number
        word = "you pressed Ctrl-C" if number == signal.SIGINT else "the program was told to end"
        if self._interrupt is not None:
            interrupt, self._interrupt = self._interrupt, None
            interrupt(word)
        elif self._main is not None:
            self._main.cancel()
