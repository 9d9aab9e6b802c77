"""The dialect tidings, an invented wire format. The work stands in ``wire.py``."""

from __future__ import annotations

from collections.abc import AsyncIterator

from hermes_plugins import Delta, Endpoint, ModelRequest


class Tidings:
    """Implements `Dialect`."""

    path = "/tidings"

    def encode(self, request: ModelRequest) -> bytes:
        """The body of the request."""
        from . import wire

        return wire.encode(request)

    async def stream(self, request: ModelRequest, endpoint: Endpoint) -> AsyncIterator[Delta]:
        """Send the request and yield the deltas of the answer.

        Raises:
            ProviderError: an error status, an error inside the stream, or a broken connection.
        """
        from . import wire

        response = await endpoint.http.open(
            "POST",
            endpoint.url,
            headers={"content-type": "application/json", **endpoint.headers},
            content=self.encode(request),
            timeouts=endpoint.timeouts,
        )
        try:
            if response.status != 200:
                raise wire.refusal(response, await response.read())
            async for delta in wire.deltas(response):
                yield delta
        finally:
            await response.aclose()
