"""The store as one running session sees it: bound to its lease, which is renewed while it is open."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from hermes_core.store.sqlite import Lease, Store
from hermes_plugins._clock import Clock
from hermes_plugins._messages import Message, Usage

RENEW_SECONDS: Final = 10.0
"""A lease lasts three times as long, so two renewals may be late."""


class LeaseKeeper:
    """Implements what a turn writes to (`Keeper`)."""

    def __init__(self, store: Store, lease: Lease, clock: Clock, *, title: str) -> None:
        self._store = store
        self._lease = lease
        self._title = title
        self._renewing = asyncio.get_running_loop().create_task(self._renew(clock))

    async def append(
        self,
        messages: Sequence[Message],
        *,
        usage: Mapping[str, Usage] | None = None,
        model_calls: int = 0,
        final: bool = False,
    ) -> list[int]:
        return await self._store.append(
            self._lease, messages, usage=usage, model_calls=model_calls, final=final
        )

    def save_draft(self, text: str, reasoning: str) -> None:
        self._store.save_draft(self._lease, text, reasoning)

    async def entitle(self, title: str) -> None:
        if title and not self._title:
            await self._store.entitle(self._lease.session_id, title)
            self._title = title

    async def note_model(self, model: str) -> None:
        """Keep the model that the session goes on with."""
        await self._store.set_model(self._lease, model)

    async def give_back(self, *, forget: bool) -> None:
        """End the lease; ``forget`` removes a session in which nothing was said."""
        self._renewing.cancel()
        await self._store.release(self._lease)
        if forget:
            await self._store.delete(self._lease.session_id)

    async def _renew(self, clock: Clock) -> None:
        """Until cancelled; a lease that somebody took over shows at the next write."""
        while True:
            await clock.sleep(RENEW_SECONDS)
            await self._lease.renew()
