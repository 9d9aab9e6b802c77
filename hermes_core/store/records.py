"""Plugins' own small values: get, put with compare-and-set, list, lease."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hermes_core.store.database import Connection
from hermes_core.store.writer import Reader, Writer
from hermes_plugins._clock import Clock
from hermes_plugins._errors import StoreError
from hermes_plugins._messages import Json
from hermes_plugins._store import Record

_GET = "SELECT value, version FROM records WHERE namespace = ? AND key = ?"
_LIST = (
    "SELECT key, value, version FROM records"
    " WHERE namespace = ? AND substr(key, 1, length(?)) = ? ORDER BY key"
)
_PUT = (
    "INSERT INTO records (namespace, key, value, version) VALUES (?, ?, CAST(? AS TEXT), ?)"
    " ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value, version = excluded.version"
)
_DELETE = "DELETE FROM records WHERE namespace = ? AND key = ?"
_LEASE = (
    "INSERT INTO record_leases (namespace, key, holder, until) VALUES (?1, ?2, ?3, ?4)"
    " ON CONFLICT (namespace, key) DO UPDATE SET holder = excluded.holder, until = excluded.until"
    " WHERE holder = excluded.holder OR until <= ?5"
)


class NamespaceRecords:
    """Implements `Records` for one namespace."""

    def __init__(self, namespace: str, *, reader: Reader, writer: Writer, clock: Clock) -> None:
        self._namespace = namespace
        self._reader = reader
        self._writer = writer
        self._clock = clock

    async def get(self, key: str) -> Record | None:
        """The value under ``key``."""
        row = await self._reader.run(_get, self._namespace, key)
        return None if row is None else _record(key, *row)

    async def put(self, key: str, value: Json, *, version: int | None = None) -> Record:
        """Keep a value. With ``version`` only if that is still the kept one (0: only if absent).

        Raises:
            StoreError: somebody else changed it first, or the value is not JSON.
        """
        try:
            body = msgspec.json.encode(value)
        except (TypeError, ValueError, msgspec.MsgspecError) as error:
            raise StoreError(
                f"the value of {self._namespace} {key} is no JSON: {error}."
            ) from error

        def put(connection: Connection) -> int:
            row = _get(connection, self._namespace, key)
            kept = 0 if row is None else row[1]
            if version is not None and version != kept:
                raise StoreError(
                    f"{self._namespace} {key} is at version {kept}, not {version}.",
                    hint="Read it again and repeat the change.",
                )
            connection.execute(_PUT, (self._namespace, key, body, kept + 1))
            return kept + 1

        return _record(key, body.decode(), await self._writer.run(put))

    async def delete(self, key: str) -> None:
        """Forget a value; a missing one is fine."""
        await self._writer.run(_change, _DELETE, (self._namespace, key))

    async def list(self, *, prefix: str = "") -> Sequence[Record]:
        """Values by key."""
        rows = await self._reader.run(_list, self._namespace, prefix)
        return [_record(*row) for row in rows]

    async def lease(self, key: str, *, holder: str, seconds: float) -> bool:
        """Take or renew the right to ``key``; False while another holder has it. 0 gives it back."""
        now = self._clock.now()
        row = (self._namespace, key, holder, now + seconds, now)
        return await self._writer.run(_change, _LEASE, row) > 0


def _get(connection: Connection, namespace: str, key: str) -> tuple[str, int] | None:
    row: tuple[str, int] | None = connection.execute(_GET, (namespace, key)).fetchone()
    return row


def _list(connection: Connection, namespace: str, prefix: str) -> Sequence[tuple[str, str, int]]:
    return connection.execute(_LIST, (namespace, prefix, prefix)).fetchall()


def _change(connection: Connection, statement: str, row: tuple[object, ...]) -> int:
    return connection.execute(statement, row).rowcount


def _record(key: str, value: str, version: int) -> Record:
    return Record(key=key, value=msgspec.json.decode(value), version=version)
