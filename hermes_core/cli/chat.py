"""``hermes chat``: the plain line face, one-shot questions, and the event stream as JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO, cast

import click
import msgspec

from hermes_core.cli import first_run, values
from hermes_core.cli.console import can_draw, is_terminal, let_go, print_error, reserve_stdout
from hermes_core.cli.context import paths_of, working_folder
from hermes_core.config import process_environment
from hermes_plugins._errors import HermesError, PluginError, UsageError

if TYPE_CHECKING:
    from hermes_core.cli.lines import Lines
    from hermes_core.runtime import Runtime
    from hermes_plugins._faces import FaceHost, FaceSession, SessionWish, Shell


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
    cli: bool = False
    tui: bool = False


@click.command("chat")
@click.option("-q", "--query", metavar="TEXT", help="Ask once, print only the answer, and end.")
@click.option("-z", "oneshot", metavar="TEXT", help="The same as -q.")
@click.option("--json", "as_json", is_flag=True, help="Print every event as one line of JSON.")
@click.option(
    "-r",
    "--resume",
    metavar="ID|TITLE",
    shell_complete=values.sessions,
    help="Continue that session.",
)
@click.option("-c", "--continue", "latest", is_flag=True, help="Continue the newest session.")
@click.option("--fork", is_flag=True, help="Continue in a copy; the session itself stays as it is.")
@click.option(
    "-m",
    "--model",
    metavar="[PROVIDER/]MODEL",
    default="",
    shell_complete=values.models,
    help="Use that model.",
)
@click.option(
    "--provider",
    metavar="NAME",
    default="",
    shell_complete=values.providers,
    help="Use that provider.",
)
@click.option(
    "-t",
    "--toolsets",
    metavar="A,B",
    shell_complete=values.toolsets,
    help="Give it these tools only.",
)
@click.option("--max-turns", type=click.IntRange(1), help="Model calls a message may take.")
@click.option("--yolo", is_flag=True, help="Do not ask before risky calls (the hard floor stays).")
@click.option("--cli", is_flag=True, help="Use the plain face: lines, whatever the terminal.")
@click.option("--tui", is_flag=True, help="Use the full-screen shell, where one is installed.")
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
    import asyncio  # not above: the shells ask for the options at each Tab

    if query is not None and oneshot is not None:
        raise UsageError("-q and -z are the same.", hint='One question at a time: `hermes -q "…"`')
    wished = _checked(msgspec.convert(wishes, Wishes))
    text = _question(query if query is not None else oneshot, as_json=as_json)
    out = sys.stdout if text is None else reserve_stdout()
    chat = _Chat(ctx, out, text=text, as_json=as_json, modules=modules, wishes=wished)
    try:
        status = asyncio.run(chat.run())
        if chat.wants_setup:
            from hermes_core.cli.main import INTERRUPTED

            status = first_run.run_setup(ctx)
            if status == INTERRUPTED:
                return status
            chat = _Chat(ctx, out, text=text, as_json=as_json, modules=modules, wishes=wished)
            status = asyncio.run(chat.run())
        return status
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
        raise UsageError(
            "--resume and --continue name two sessions.",
            hint=f"`hermes -c` is the newest; {listing}",
        )
    if wishes.fork and wishes.resume is None and not wishes.latest:
        raise UsageError(
            "--fork needs a session to copy.", hint="Add --continue, or --resume ID; " + listing
        )
    if wishes.cli and wishes.tui:
        raise UsageError(
            "--cli and --tui name two faces.",
            hint="Leave one out: `hermes --cli` is the plain one.",
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
    from hermes_core.cli.piped import piped_text

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
        from hermes_core.cli.signals import Signals

        self._ctx = ctx
        self._out = out
        self._text = text
        self._as_json = as_json
        self._modules = modules
        self._wishes = wishes
        self.signals = Signals()
        self.wants_setup = False
        """The person asked for `hermes setup`; nothing else was done."""

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
            if self._may_ask() and await first_run.wants_setup(runtime, self._out):
                self.wants_setup = True
                return 0
            if self._text is None and (shell := await self._shell(runtime)):
                return await shell.run(self._wish(None))
            return await self._run_plainly(runtime)
        finally:
            await runtime.close()

    def _may_ask(self) -> bool:
        """Whether a conversation begins of which nothing says with whom."""
        wishes = self._wishes
        is_named = wishes.model or wishes.provider or wishes.resume is not None or wishes.latest
        return self._text is None and not is_named

    async def _run_plainly(self, runtime: Runtime) -> int:
        from hermes_core.cli.face import AnswerFace, JsonFace, PlainFace
        from hermes_core.cli.lines import Lines
        from hermes_core.cli.talk import Talk, run_turn

        lines = Lines()
        wish = self._wish(lines)
        session: FaceSession = await runtime.open_session(wish)
        try:
            for note in runtime.config.notes:
                print_error(note)
            for problem in runtime.host.problems:
                name = f"{problem.plugin}: " if problem.plugin else ""
                print_error(f"{name}{problem.text}", hint=problem.hint)
            if self._text is not None:
                shown = JsonFace(self._out) if self._as_json else AnswerFace(self._out, sys.stderr)
                return await run_turn(session, self._text, shown, signals=self.signals)
            from hermes_core.faces import RuntimeFace

            display = runtime.config.settings.display
            talk = Talk(
                RuntimeFace(runtime, "plain"),
                session,
                wish=wish,
                shown=PlainFace(
                    self._out,
                    sys.stderr,
                    show_reasoning=display.show_reasoning,
                    streaming=display.streaming,
                    tool_progress=display.tool_progress,
                ),
                lines=lines,
                signals=self.signals,
            )
            try:
                return await talk.run()
            finally:
                session = talk.session
        finally:
            await session.close()

    async def _shell(self, runtime: Runtime) -> Shell | None:
        """The shell that the settings or ``--tui`` name; None is the plain face.

        One that was asked for and cannot be had is told in a line; the usual one may be missing.
        """
        from hermes_core.dispatch import Fault
        from hermes_core.faces import RuntimeFace

        name = "tui" if self._wishes.tui else runtime.config.settings.display.interface
        if self._wishes.cli or name == "plain" or not can_draw(self._out):
            return None
        host = runtime.host
        is_wanted = self._wishes.tui or (
            runtime.config.origin("display.interface").layer != "default"
        )
        found = [one for one in host.found if (one.group, one.name) == ("hermes.shells", name)]
        if not is_wanted and all(host.why_off(one) for one in found):
            return None
        try:
            make = cast("Callable[[FaceHost], Shell]", await host.driver("hermes.shells", name))
            face = RuntimeFace(runtime, found[0].plugin)
            shell = await host.dispatch.made(
                found[0].plugin, f"the shell {name}", lambda: make(face)
            )
            if not callable(getattr(shell, "run", None)):
                raise PluginError(found[0].plugin, f"the shell {name} has no run().")
            return cast("Shell", shell)
        except Fault as fault:
            print_error(
                f"plugin {fault.plugin}: {fault.text}. This is the plain face.",
                hint=f"`hermes plugins info {fault.plugin}` tells about it; --cli goes without it.",
            )
        except HermesError as error:
            print_error(f"{error.message} This is the plain face.", hint=error.hint)
        return None

    def _wish(self, lines: Lines | None) -> SessionWish:
        """``lines`` is where a question of the plain face is answered."""
        from hermes_core.cli.approver import LineApprover
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
            approver=LineApprover(lines) if lines is not None and asks else None,
        )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.replace(" ", "").split(",") if name)
