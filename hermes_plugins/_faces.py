"""Faces: how people reach an agent. Provisional until a second shell exists.

A face renders events and never reaches into the loop. It opens a session with a `SessionWish`, runs
messages with ``session.run(message)``, and answers the gate's questions through its `Approver`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Protocol

import msgspec

from hermes_plugins._approvals import Approver
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
    model: str = ""
    provider: str = ""
    toolsets: tuple[str, ...] = ()
    max_turns: int = 0
    mode: str = ""
    """Approvals mode in place of ``gate.mode``."""
    approver: Approver | None = None


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
    def tools(self) -> Sequence[ToolSpec]:
        """The tools as the model sees them."""

    @property
    def model(self) -> str:
        """``provider/model``."""

    def run(self, message: str | Message, *, max_turns: int = 0) -> RunHandle:
        """A turn that answers ``message``; enter it to start.

        Raises:
            UsageError: a turn of this session is still running.
        """

    async def close(self) -> None:
        """Interrupt what runs, and let the session go."""


class FaceHost(Protocol):
    """What a shell may ask of the kernel."""

    host: Host
    """The handle of the shell's own plugin."""
    sessions: SessionReader
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


class SlashContext(Protocol):
    """What a slash command may use."""

    face: FaceHost
    session: FaceSession

    async def switch(self, wish: SessionWish) -> None:
        """Close the session and go on in another."""


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
