"""Faces: how people reach an agent. Provisional until a second shell exists.

A face renders events and never reaches into the loop. It opens a session with a `SessionWish`, runs
messages with ``session.run(message)``, and answers the gate's questions through its `Approver`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Protocol

import msgspec

from hermes_plugins._approvals import Approver
from hermes_plugins._dialects import ToolSpec
from hermes_plugins._events import Event, TurnEnded
from hermes_plugins._messages import Message
from hermes_plugins._store import SessionInfo


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
