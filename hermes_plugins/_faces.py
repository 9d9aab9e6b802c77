"""Faces: how people reach an agent. Provisional until a second shell and a second server exist.

A face renders events and never reaches into the loop. It opens a session with a `SessionWish`, runs
messages with ``session.run(message)``, and answers the gate's questions through its `Approver`. A
`Shell` has the terminal to itself; a `GatewayFace` is run by the gateway and serves whoever comes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Protocol, runtime_checkable

import msgspec

from hermes_plugins._approvals import Answer, Approver
from hermes_plugins._catalog import Catalog
from hermes_plugins._dialects import ToolSpec
from hermes_plugins._events import Event, TurnEnded
from hermes_plugins._host import Host
from hermes_plugins._messages import Message
from hermes_plugins._store import SessionInfo, SessionReader


class SessionWish(msgspec.Struct, frozen=True, kw_only=True):
    """What a face asks for when it opens a session; "" and 0 leave a choice to the settings."""

    face: str = "cli"
    interactive: bool = True
    """False where nobody can answer a question of the model."""
    resume: str = ""
    """Id, id prefix or title of the session to continue."""
    latest: bool = False
    """Continue the newest session."""
    fork: bool = False
    """Continue in a copy."""
    upto: int | None = None
    """Position of the last message that the copy gets; 0 is none of them, None is all."""
    model: str = ""
    provider: str = ""
    toolsets: tuple[str, ...] = ()
    max_turns: int = 0
    mode: str = ""
    """Approvals mode in place of ``gate.mode``."""
    approver: Approver | None = None
    history: tuple[Message, ...] = ()
    """What a new session begins with, where the client keeps its conversation itself. Calls without a
    result and results without a call are mended; it is stored like what was said here."""
    instructions: str = ""
    """What the client's own system prompt says; part of the prompt of a new session, behind ours."""

    def onward(self, wish: SessionWish, *, mode: str = "") -> SessionWish:
        """``wish`` from the same place: what belongs to the face and not to a session stays."""
        return msgspec.structs.replace(
            wish,
            face=self.face,
            interactive=self.interactive,
            toolsets=wish.toolsets or self.toolsets,
            max_turns=wish.max_turns or self.max_turns,
            mode=wish.mode or mode or self.mode,
            approver=wish.approver or self.approver,
        )


class SessionStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What a status line tells; sizes are tokens, 0 is unknown."""

    mode: str = "manual"
    """Approvals mode: manual, smart or off."""
    max_turns: int = 0
    """Model calls that one message may take."""
    context_length: int = 0
    context_used: int = 0
    """Of the last request and its answer, as the provider counted them."""


class RunHandle(Protocol):
    """One turn: entering starts it, iterating reads its events, leaving ends it."""

    end: TurnEnded | None
    """The last event, once there is one."""

    @property
    def done(self) -> bool:
        """True when the turn is over."""

    async def __aenter__(self) -> RunHandle: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def __aiter__(self) -> AsyncIterator[Event]: ...

    def interrupt(self, reason: str) -> None:
        """Stop: the stream is dropped, tools are told, what there is of the answer is kept."""

    def steer(self, text: str) -> bool:
        """Say something to the model while it works; False when the turn is over already."""


class FaceSession(Protocol):
    """A session as a face holds it."""

    @property
    def info(self) -> SessionInfo:
        """Id, title, model, folder."""

    @property
    def history(self) -> Sequence[Message]:
        """The messages so far."""

    @property
    def system(self) -> str:
        """The system prompt, built when the session began."""

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """The tools as the model sees them."""

    @property
    def model(self) -> str:
        """``provider/model``."""

    @property
    def status(self) -> SessionStatus:
        """What a status line tells."""

    def set_mode(self, mode: str) -> None:
        """Another approvals mode from the next call on: manual, smart or off."""

    def run(self, message: str | Message, *, max_turns: int = 0) -> RunHandle:
        """A turn that answers ``message``; enter it to start.

        Raises:
            UsageError: a turn of this session is still running.
        """

    async def close(self) -> None:
        """Interrupt what runs, and let the session go."""


class FaceHost(Protocol):
    """What a face may ask of the kernel."""

    host: Host
    """The handle of the face's own plugin."""
    sessions: SessionReader
    catalog: Catalog
    display: Mapping[str, object]
    """The section ``display`` of hermes.yaml."""

    async def open(self, wish: SessionWish) -> FaceSession:
        """A new session, or one that goes on; close the old one first.

        Raises:
            UsageError: no such session, model, provider or toolset.
            SessionBusy: another process is writing it.
        """

    def notices(self) -> Sequence[str]:
        """What the person should be told once: settings without effect, plugins that failed."""

    def commands(self) -> Sequence[SlashCommand]:
        """Slash commands of the kernel and of plugins, by name."""

    async def command(self, context: SlashContext, line: str) -> str | None:
        """Run ``line`` if it is a slash command; the text to show, or None where it is a message.

        Mistyped ones, and what went wrong, are text too.
        """

    async def models(self) -> Sequence[str]:
        """``provider/model``s that could be chosen, as far as they are known without asking anybody."""

    async def edit(self, text: str) -> str:
        """Let the person change ``text`` in their editor, which gets the terminal meanwhile.

        Raises:
            UsageError: the editor does not start or fails.
        """


class SlashContext(Protocol):
    """What a slash command may use: the face that it was typed into."""

    face: FaceHost
    session: FaceSession
    running: RunHandle | None
    """The turn that is going on."""

    async def switch(self, wish: SessionWish) -> None:
        """Go on in another session; where that cannot be opened, this one stays.

        Raises:
            UsageError: no such session, model, provider or toolset.
            SessionBusy: another process is writing it.
        """

    def submit(self, message: str | Message) -> None:
        """A message, as if it had been typed when what runs now is done."""

    def leave(self) -> None:
        """End the conversation."""

    def answer(self, answer: Answer) -> bool:
        """Answer the gate's open question; False when there is none."""

    def toggle_verbose(self) -> bool:
        """Show results of tools whole, or in a line again; returns whether they are shown whole."""

    async def edit(self, text: str) -> str:
        """As `FaceHost.edit`, with the face out of the way."""


class SlashCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command of the prompt, such as ``/title``.

    ``run`` gets the context and what stands behind the name; it returns text to show, which may be
    empty. ``usage`` is what stands behind the name in the help, such as ``[TEXT]``.
    """

    name: str
    help: str
    run: Callable[[SlashContext, str], Awaitable[str]]
    usage: str = ""
    aliases: tuple[str, ...] = ()


class Shell(Protocol):
    """A driver class in the group ``hermes.shells``, made as ``cls(face)``.

    ``display.interface`` names the one that ``hermes`` opens at a terminal.
    """

    async def run(self, wish: SessionWish) -> int:
        """Talk until the person leaves; returns the exit status."""


class GatewayFace(Protocol):
    """A face that the gateway runs beside the chat platforms, such as a server. `Watched` and
    `Drained` are for it too."""

    async def run(self) -> None:
        """Serve until cancelled, then interrupt what runs and close every session.

        It may end or raise: the gateway then makes a new one after a pause that grows, and tells the
        owner why.
        """


@runtime_checkable
class Drained(Protocol):
    """A face that can end without cutting anybody off."""

    async def drain(self) -> None:
        """Take nothing new, and return when nothing runs any more.

        The gateway waits ``gateway.drain`` seconds for it before it cancels ``run``.
        """


class FaceSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What ``hermes_register_platforms`` returns for a face that the gateway runs.

    ``id`` is the name of the entry point. ``make`` is called whenever the face is (re)started; import
    the work there. ``check`` raises what is missing in the settings, a `HermesError` that names the
    command which sets it; the face is not started then.
    """

    id: str
    make: Callable[[FaceHost], GatewayFace]
    check: Callable[[Host], None] | None = None
