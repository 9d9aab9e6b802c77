"""Memory backends: what outlives a session and is recalled into later ones. Provisional.

One external backend at a time, named by ``memory.backend``. The built-in memory of files is a tool
set with a prompt section; this contract is for stores that recall by query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from hermes_plugins._messages import Message


class Recalled(msgspec.Struct, frozen=True, kw_only=True):
    """One remembered thing; ``score`` from 0 to 1."""

    text: str
    score: float = 1.0
    source: str = ""


class MemoryBackend(Protocol):
    """Four methods; every one may be slow, none may raise past its deadline."""

    async def recall(self, query: str, *, session_id: str, limit: int = 5) -> Sequence[Recalled]:
        """What may help with ``query``."""

    async def remember(self, messages: Sequence[Message], *, session_id: str) -> None:
        """Learn from a finished turn."""

    async def on_compress(self, messages: Sequence[Message], *, session_id: str) -> str:
        """Text to keep from messages that are about to be summarised."""

    async def close(self) -> None:
        """Finish what is pending."""
