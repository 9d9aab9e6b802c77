"""Kept values in memory: the fake of the kit's `Records`."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_plugins._clock import Clock
from hermes_plugins._errors import StoreError
from hermes_plugins._messages import Json
from hermes_plugins._store import Record


class FakeRecords:
    """Implements `Records` for one namespace; gone with the object."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[str, Record] = {}
        self._leases: dict[str, tuple[str, float]] = {}

    async def get(self, key: str) -> Record | None:
        return self._kept.get(key)

    async def put(self, key: str, value: Json, *, version: int | None = None) -> Record:
        before = self._kept.get(key)
        current = before.version if before else 0
        if version is not None and version != current:
            raise StoreError(f"{key} was changed by somebody else.", hint="Read it again.")
        self._kept[key] = Record(key=key, value=value, version=current + 1)
        return self._kept[key]

    async def delete(self, key: str) -> None:
        self._kept.pop(key, None)

    async def list(self, *, prefix: str = "") -> Sequence[Record]:
        return [self._kept[key] for key in sorted(self._kept) if key.startswith(prefix)]

    async def lease(self, key: str, *, holder: str, seconds: float) -> bool:
        owner, until = self._leases.get(key, (holder, 0.0))
        if owner != holder and until > self._clock.monotonic():
            return False
        self._leases[key] = (holder, self._clock.monotonic() + seconds)
        return True
