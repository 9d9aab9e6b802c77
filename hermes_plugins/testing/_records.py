"""Kept values in memory: the fake of the kit's `Records`."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hermes_plugins._clock import Clock
from hermes_plugins._errors import StoreError
from hermes_plugins._messages import Json
from hermes_plugins._store import Record


class FakeRecords:
    """Implements `Records` for one namespace; gone with the object.

    A value is kept as JSON, so what comes back is a copy, as from the real ones.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[str, Record] = {}
        self._leases: dict[str, tuple[str, float]] = {}

    async def get(self, key: str) -> Record | None:
        kept = self._kept.get(key)
        return _copied(kept) if kept else None

    async def put(self, key: str, value: Json, *, version: int | None = None) -> Record:
        before = self._kept.get(key)
        current = before.version if before else 0
        if version is not None and version != current:
            raise StoreError(f"{key} was changed by somebody else.", hint="Read it again.")
        try:
            self._kept[key] = _copied(Record(key=key, value=value, version=current + 1))
        except TypeError as error:
            raise StoreError(f"the value of {key} is no JSON: {error}.") from error
        return _copied(self._kept[key])

    async def delete(self, key: str) -> None:
        self._kept.pop(key, None)

    async def list(self, *, prefix: str = "") -> Sequence[Record]:
        return [_copied(self._kept[key]) for key in sorted(self._kept) if key.startswith(prefix)]

    async def lease(self, key: str, *, holder: str, seconds: float) -> bool:
        owner, until = self._leases.get(key, (holder, 0.0))
        if owner != holder and until > self._clock.monotonic():
            return False
        self._leases[key] = (holder, self._clock.monotonic() + seconds)
        return True


def _copied(record: Record) -> Record:
    return msgspec.json.decode(msgspec.json.encode(record), type=Record)
