"""Several keys of one provider: which is next, which rest, and since when.

State is shared by all processes of the home (records ``route.keys``), so a key that one of them wore
out rests for the others too. A pool of one key keeps no state: there is nothing to choose. Keys are
named by their id everywhere; their values stay here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Literal, TypeAlias

import msgspec

from hermes_plugins._clock import Clock
from hermes_plugins._errors import StoreError
from hermes_plugins._messages import Json
from hermes_plugins._store import Records, update_record

Strategy: TypeAlias = Literal["fill_first", "round_robin", "random", "least_used"]

AUTH_REST = 300.0
"""Seconds that a key rests which was not accepted (reference 4.6)."""
OTHER_REST = 3600.0
"""Seconds after a used-up limit or credit, where the provider names no time (reference 4.6)."""
DEAD_WORDS = (
    "token_invalidated",
    "token_revoked",
    "invalid_grant",
    "unauthorized_client",
    "refresh_token_reused",
)
"""A key of which a provider says this never comes back (reference 4.6)."""


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One key; smaller priorities are used first."""

    id: str
    secret: str
    priority: int = 0


class KeyState(msgspec.Struct, frozen=True, kw_only=True):
    """How a key is; times are seconds since the epoch."""

    until: float = 0.0
    reason: str = ""
    dead: bool = False
    uses: int = 0
    last: float = 0.0


class KeyPool:
    """The keys of one provider in this process."""

    def __init__(
        self,
        provider: str,
        keys: Sequence[Key],
        *,
        strategy: Strategy,
        records: Records,
        clock: Clock,
        random: Callable[[], float],
    ) -> None:
        self.provider = provider
        self._keys = sorted(keys, key=lambda key: key.priority)
        self._strategy = strategy
        self._records = records
        self._clock = clock
        self._random = random

    def __len__(self) -> int:
        return len(self._keys)

    async def take(self, *, without: Collection[str] = ()) -> Key | None:
        """The key for the next request; None when all of them rest or are in ``without``."""
        if len(self._keys) == 1:
            key = self._keys[0]
            return None if key.id in without else key
        states, now = await self._states(), self._clock.now()
        ready = self._ready(states, without)
        if not ready:
            return None
        chosen = self._chosen(ready, states)
        await self._change(
            chosen, lambda old: msgspec.structs.replace(old, uses=old.uses + 1, last=now)
        )
        return chosen

    async def is_ready(self, *, without: Collection[str] = ()) -> bool:
        """Whether `take` would give a key."""
        return bool(self._ready(await self._states(), without))

    async def rest(self, key: Key, reason: str, *, words: str = "", wait: float | None) -> None:
        """Let a key rest: ``wait`` seconds, or as long as is usual for the reason."""
        if len(self._keys) == 1:
            return
        now = self._clock.now()
        usual = AUTH_REST if reason == "auth" else OTHER_REST
        changed = KeyState(
            until=now + (usual if wait is None else wait),
            reason=reason,
            dead=any(word in words for word in DEAD_WORDS),
        )
        await self._change(
            key, lambda old: msgspec.structs.replace(changed, uses=old.uses, last=old.last)
        )

    async def first_back(self) -> float | None:
        """When the first resting key comes back; None where none does."""
        if len(self._keys) == 1:
            return None
        states = await self._states()
        return min((one.until for one in states.values() if not one.dead), default=None)

    def _ready(self, states: dict[str, KeyState], without: Collection[str]) -> list[Key]:
        now = self._clock.now()
        return [
            key
            for key in self._keys
            if key.id not in without and not states[key.id].dead and states[key.id].until <= now
        ]

    def _chosen(self, ready: Sequence[Key], states: dict[str, KeyState]) -> Key:
        if self._strategy == "random":
            return ready[int(self._random() * len(ready)) % len(ready)]
        if self._strategy == "round_robin":
            return min(ready, key=lambda key: states[key.id].last)
        if self._strategy == "least_used":
            return min(ready, key=lambda key: states[key.id].uses)
        return ready[0]

    async def _states(self) -> dict[str, KeyState]:
        """How each key is; a store that cannot be read knows nothing bad of them."""
        try:
            found = await self._records.list(prefix=f"{self.provider}/")
        except StoreError:
            found = []
        kept = {one.key: one.value for one in found}
        return {key.id: _state(kept.get(f"{self.provider}/{key.id}")) for key in self._keys}

    async def _change(self, key: Key, change: Callable[[KeyState], KeyState]) -> None:
        with suppress(StoreError):  # a full disk keeps nobody from an answer
            await update_record(
                self._records,
                f"{self.provider}/{key.id}",
                lambda value: msgspec.to_builtins(change(_state(value))),
            )


def _state(value: Json) -> KeyState:
    try:
        return msgspec.convert(value, KeyState) if value else KeyState()
    except msgspec.ValidationError:  # another version wrote it
        return KeyState()
