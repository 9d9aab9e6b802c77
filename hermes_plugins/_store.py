"""Reading what was kept: sessions, messages, search, and a plugin's own records.

The reading interface is public. Writing stays inside the kernel until a second store exists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from hermes_plugins._errors import StoreError
from hermes_plugins._messages import Json, Message, Usage


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A session without its messages. Times are seconds since the epoch.

    ``parent`` is the session this one continues or was forked from, ``kind`` says which.
    """

    id: str
    title: str = ""
    face: str = "cli"
    model: str = ""
    workspace: str = ""
    parent: str = ""
    kind: str = ""
    created: float = 0.0
    updated: float = 0.0
    message_count: int = 0
    usage: Usage = Usage()


class StoredMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message and its place in the session, from 1."""

    position: int
    time: float
    message: Message


class SearchHit(msgspec.Struct, frozen=True, kw_only=True):
    """One message that matches. ``snippet`` is about 160 characters around the first match."""

    session: str
    title: str
    position: int
    role: str
    time: float
    snippet: str


class SearchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Hits, best first. ``more`` says that older matches exist which were not looked at.

    ``literal`` says that the words were searched as they stand, because the query has no meaning as
    an expression.
    """

    hits: tuple[SearchHit, ...] = ()
    more: bool = False
    literal: bool = False


class SessionReader(Protocol):
    """Sessions, read only; every call sees what was committed before it."""

    async def get(self, session_id: str) -> SessionInfo | None:
        """One session."""

    async def find(self, name: str) -> Sequence[SessionInfo]:
        """Sessions whose id, unique id prefix or title is ``name``; newest first."""

    async def list(self, *, limit: int = 20, before: float | None = None) -> Sequence[SessionInfo]:
        """Sessions by last use, newest first."""

    async def messages(
        self, session_id: str, *, after: int = 0, limit: int | None = None
    ) -> Sequence[StoredMessage]:
        """Messages of a session in order, from behind position ``after``."""

    async def search(
        self, query: str, *, limit: int = 20, session: str = "", role: str = ""
    ) -> SearchAnswer:
        """Messages with the words of ``query``; quotes keep words together; never a syntax error."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One kept value; ``version`` grows by one with each change."""

    key: str
    value: Json
    version: int


class Records(Protocol):
    """Small values of one namespace, shared by all processes of the home."""

    async def get(self, key: str) -> Record | None:
        """The value under ``key``."""

    async def put(self, key: str, value: Json, *, version: int | None = None) -> Record:
        """Keep a value. With ``version`` only if that is still the kept one (0: only if absent).

        Raises:
            StoreError: somebody else changed it first.
        """

    async def delete(self, key: str) -> None:
        """Forget a value; a missing one is fine."""

    async def list(self, *, prefix: str = "") -> Sequence[Record]:
        """Values by key."""

    async def lease(self, key: str, *, holder: str, seconds: float) -> bool:
        """Take or renew the right to ``key``; False while another holder has it."""


async def update_record(records: Records, key: str, change: Callable[[Json], Json]) -> Record:
    """Change one value that other tasks and processes change too, and lose nobody's change.

    ``change`` gets the kept value, None where there is none, and returns the new one. It is called
    again on the newer value when somebody else was faster, so it must do nothing else; what it raises
    ends the update.

    Raises:
        StoreError: the value cannot be kept.
    """
    kept = await records.get(key)
    while True:
        value, version = (kept.value, kept.version) if kept else (None, 0)
        try:
            return await records.put(key, change(value), version=version)
        except StoreError:
            kept = await records.get(key)
            if (kept.version if kept else 0) == version:
                raise  # nobody was faster: it fails for another reason
