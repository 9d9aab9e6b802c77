"""Context engines: what stays in the window when a session outgrows it. Provisional."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hermes_plugins._messages import Message, Usage


class ContextEngine(Protocol):
    """A driver class in the group ``hermes.context``; config picks one."""

    def should_compress(self, usage: Usage, *, window: int) -> bool:
        """True when the next request would be too long."""

    async def compress(self, messages: Sequence[Message], *, window: int) -> Sequence[Message]:
        """A shorter session that means the same; call and result stay together."""
