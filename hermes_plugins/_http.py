"""HTTP as a plugin sees it: one protocol, so that the library behind it is the kernel's choice.

Use ``host.http`` or ``Endpoint.http``; both share connections and the TLS context, redact secrets in
logs and respect ``network.*``. `SseDecoder` reads server-sent events (WHATWG HTML, section 9.2).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

import msgspec


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds. ``first`` bounds the wait for the answer's first byte, ``idle`` the pauses after it."""

    connect: float = 10.0
    first: float = 300.0
    idle: float = 120.0


class HttpResponse(Protocol):
    """An answer whose body has not been read yet. Close it in a ``finally``."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives, decoded.

        Raises:
            ProviderError: the connection broke or stayed silent for too long.
        """

    async def read(self, *, limit: int = 10_000_000) -> bytes:
        """The whole body, at most ``limit`` bytes of it."""

    async def aclose(self) -> None:
        """Release the connection; drops it when the body was not read to its end."""


class HttpClient(Protocol):
    """Opens requests. One client serves any number of hosts and tasks."""

    async def open(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        timeouts: Timeouts | None = None,
    ) -> HttpResponse:
        """Send a request and return when the status and headers have arrived.

        Raises:
            ProviderError: no connection, no answer in time, a bad certificate or URL.
        """


class SseDecoder:
    """Splits a byte stream into server-sent events; any chunking, ``\\n`` and ``\\r\\n``."""

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The ``data`` of each event that is complete now; comments and other fields are skipped."""
        buffer = self._buffer + chunk if self._buffer else chunk
        if b"\r" in buffer:
            if buffer.endswith(b"\r"):  # the other half of a line end may be in the next chunk
                self._buffer = buffer
                return []
            buffer = buffer.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *blocks, self._buffer = buffer.split(b"\n\n")
        return [data for block in blocks if (data := _data_of(block)) is not None]

    def flush(self) -> list[bytes]:
        """The event that the stream ended in without its blank line, if any.

        The standard drops it; real servers leave the last blank line out.
        """
        block, self._buffer = self._buffer.replace(b"\r\n", b"\n").replace(b"\r", b"\n"), b""
        data = _data_of(block)
        return [] if data is None else [data]


def _data_of(block: bytes) -> bytes | None:
    if block.startswith(b"data: ") and b"\n" not in block:
        return block[6:]
    lines = [line[5:] for line in block.split(b"\n") if line.startswith(b"data:")]
    if not lines:
        return None
    return b"\n".join(line[1:] if line.startswith(b" ") else line for line in lines)
