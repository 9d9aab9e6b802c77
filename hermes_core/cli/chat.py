"""``hermes chat``: the plain line face, one-shot questions, and the event stream as JSON."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Final, TextIO

import click
import msgspec

from hermes_core.cli.approver import LineApprover
from hermes_core.cli.console import is_terminal, let_go, print_error, reserve_stdout, tell
from hermes_core.cli.context import paths_of, working_folder
from hermes_core.cli.face import AnswerFace, Face, JsonFace, PlainFace
from hermes_core.cli.lines import Lines
from hermes_core.cli.piped import piped_text
from hermes_core.cli.signals import Signals
from hermes_core.config import process_environment
from hermes_plugins._errors import UsageError
from hermes_plugins._events import TurnEnded

if TYPE_CHECKING:
    from hermes_core.agent.agent import Session
    from hermes_core.runtime import Runtime
    from hermes_plugins._faces import SessionWish

EXIT_STATUS: Final = {"completed": 0, "interrupted": 130}
"""Every other outcome is a failure: 1."""
_CTRL_C: Final = "\x03"
_LEAVE: Final = ("/quit", "/exit")


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """The options that choose the session and how it works."""

    resume: str | None = None
    latest: bool = False
    fork: bool = False
    model: str = ""
    provider: str = ""
    toolsets: str | None = None
    max_turns: int | None = None
    yolo: bool = False


@click.command("chat")
@click.option("-q", "--query", metavar="TEXT", help="Ask once, print only the answer, and end.")
@click.option("-z", "oneshot", metavar="TEXT", help="The same as -q.")
@click.option("--json", "as_json", is_flag=True, help="Print every event as one line of JSON.")
@click.option("-r", "--resume", metavar="ID|TITLE", help="Continue that session.")
@click.option("-c", "--continue", "latest", is_flag=True, help="Continue the newest session.")
@click.option("--fork", is_flag=True, help="Continue in a copy; the session itself stays as it is.")
@click.option("-m", "--model", metavar="[PROVIDER/]MODEL", default="", help="Use that model.")
@click.option("--provider", metavar="NAME", default="", help="Use that provider.")
@click.option("-t", "--toolsets", metavar="A,B", help="Give it these tools only.")
@click.option("--max-turns", type=click.IntRange(1), help="Model calls a message may take.")
@click.option("--yolo", is_flag=True, help="Do not ask before risky calls (the hard floor stays).")
@click.option(
    "--plugin",
    "modules",
    metavar="MODULE",
    multiple=True,
    help="Load a plugin module for this run, in every group its hooks belong to; may be given again.",
)
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
    if query is not None and oneshot is not None:
        raise UsageError("-q and -z are the same; one question at a time.")
    wished = _checked(msgspec.convert(wishes, Wishes))
    text = _question(query if query is not None else oneshot, as_json=as_json)
    out = sys.stdout if text is None else reserve_stdout()
    chat = _Chat(ctx, out, text=text, as_json=as_json, modules=modules, wishes=wished)
    try:
        return asyncio.run(chat.run())
    except asyncio.CancelledError:
        return chat.signals.status
    finally:
        let_go(out)


def _checked(wishes: Wishes) -> Wishes:
    """What cannot be meant together, or was given empty, is refused: never another session.

    Raises:
        UsageError: it is so.
    """
    listing = "`hermes sessions list` shows the ids."
    if wishes.resume is not None and not wishes.resume.strip():
        raise UsageError("--resume needs the id or title of a session.", hint=listing)
    if wishes.resume is not None and wishes.latest:
        raise UsageError("--resume and --continue name two sessions.", hint="Leave one out.")
    if wishes.fork and wishes.resume is None and not wishes.latest:
        raise UsageError(
            "--fork needs a session to copy.", hint="Add --continue, or --resume ID; " + listing
        )
    if wishes.toolsets is not None and not _names(wishes.toolsets):
        raise UsageError(
            "--toolsets needs names.", hint="For example: hermes chat --toolsets file,terminal"
        )
    return wishes


def _question(query: str | None, *, as_json: bool) -> str | None:
    """The one-shot question, with what is piped in; None for a conversation.

    Raises:
        UsageError: there is nothing to ask.
    """
    if query is None and is_terminal(sys.stdin) and not as_json:
        return None
    piped = piped_text(beside_query=bool(query))
    text = "\n\n".join(part for part in (query or "", piped.strip("\n")) if part.strip())
    if not text.strip("\x00 \t\r\n"):
        raise UsageError("there is no question.", hint='`hermes chat -q "…"`, or pipe it in.')
    return text


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
        wishes: Wishes,
    ) -> None:
        self._ctx = ctx
        self._out = out
        self._text = text
        self._as_json = as_json
        self._modules = modules
        self._wishes = wishes
        self._lines = Lines()
        self.signals = Signals()

    async def run(self) -> int:
        from hermes_core.runtime import open_runtime

        self.signals.catch()
        runtime = await open_runtime(
            paths_of(self._ctx),
            environ=process_environment(),
            cwd=working_folder(),
            modules=self._modules,
        )
        try:
            session = await runtime.open_session(self._wish())
            for note in runtime.config.notes:
                print_error(note)
            for problem in runtime.host.problems:
                name = f"{problem.plugin}: " if problem.plugin else ""
                print_error(f"{name}{problem.text}", hint=problem.hint)
            try:
                if self._text is not None:
                    return await self._turn(session, self._text, self._face(runtime))
                return await self._talk(session, self._face(runtime))
            finally:
                await session.close()
        finally:
            await runtime.close()

    def _wish(self) -> SessionWish:
        from hermes_plugins._faces import SessionWish

        wishes = self._wishes
        asks = self._text is None and is_terminal(sys.stdin)
        return SessionWish(
            face="cli",
            interactive=self._text is None,
            resume=(wishes.resume or "").strip(),
            latest=wishes.latest,
            fork=wishes.fork,
            model=wishes.model,
            provider=wishes.provider,
            toolsets=_names(wishes.toolsets or ""),
            max_turns=wishes.max_turns or 0,
            mode="off" if wishes.yolo else "",
            approver=LineApprover(self._lines) if asks else None,
        )

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
            self.signals.interrupt = run.interrupt
            try:
                async for event in run:
                    face.show(event)
                    if isinstance(event, TurnEnded):
                        end = event
            finally:
                self.signals.interrupt = None
        if self.signals.told_to_end:
            return self.signals.status
        return EXIT_STATUS.get(end.outcome, 1) if end is not None else 1

    async def _talk(self, session: Session, face: Face) -> int:
        tell(f"Hermes with {session.model}. Ctrl-C interrupts, Ctrl-D leaves.\n")
        resumed = sum(one.role == "user" and bool(one.text) for one in session.history)
        if resumed:
            name = session.info.title or session.info.id
            count = f"{resumed} question{'s' * (resumed > 1)}"
            tell(f"Going on with {name!r} ({count} so far).\n")
        leaving = False
        while True:
            line = await self._next_line()
            if line == _CTRL_C:
                if leaving or self.signals.told_to_end:
                    _say_goodbye(session)
                    return self.signals.status
                leaving = True
                tell("\n(Ctrl-C once more leaves)\n")
                continue
            leaving = False
            if line is None or line.strip() in _LEAVE:
                _say_goodbye(session)
                return 0
            if not line.strip():
                continue
            await self._turn(session, line, face)
            if self.signals.told_to_end:
                return self.signals.status

    async def _next_line(self) -> str | None:
        """A line, None at the end, or ``_CTRL_C`` when the person pressed that at the prompt."""
        loop = asyncio.get_running_loop()
        pressed: asyncio.Future[None] = loop.create_future()
        reading = loop.create_task(self._lines.read("\n> "))

        def press(reason: str) -> None:
            pressed.set_result(None)

        self.signals.interrupt = press
        try:
            both: set[asyncio.Future[str | None] | asyncio.Future[None]] = {reading, pressed}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            return reading.result() if reading.done() else _CTRL_C
        finally:
            self.signals.interrupt = None
            reading.cancel()


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.replace(" ", "").split(",") if name)


def _say_goodbye(session: Session) -> None:
    if session.history:
        tell(f"\nThis was session {session.info.id}; `hermes -c` goes on with it.\n")
    else:
        tell("\n")
