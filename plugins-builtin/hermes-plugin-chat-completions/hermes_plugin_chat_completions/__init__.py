"""The dialect ``chat_completions``. Encoding stands in ``wire.py``, decoding in ``stream.py``."""

from __future__ import annotations

from collections.abc import AsyncIterator

from hermes_plugins import Delta, Endpoint, ModelRequest, ProviderError, check_status


class ChatCompletions:
    """Implements `Dialect`; one object a session, because it remembers what it has encoded."""

    path = "/chat/completions"

    def __init__(self) -> None:
        from .wire import BodyEncoder

        self._body = BodyEncoder()

    def encode(self, request: ModelRequest) -> bytes:
        """The body of the request."""
        return self._body.encode(request)

    async def stream(self, request: ModelRequest, endpoint: Endpoint) -> AsyncIterator[Delta]:
        """Send the request and yield the deltas of the answer.

        Raises:
            ProviderError: an error status, an error inside the stream, or a broken connection.
        """
        from .stream import AnswerDecoder

        headers = {"content-type": "application/json", "accept": "text/event-stream"}
        response = await endpoint.http.open(
            "POST",
            endpoint.url,
            headers={**headers, **endpoint.headers},
            content=self.encode(request),
            timeouts=endpoint.timeouts,
        )
        try:
            await check_status(response, endpoint.provider)
            decoder = AnswerDecoder(endpoint.provider, response.headers)
            try:
                async for chunk in response.chunks():
                    for delta in decoder.feed(chunk):
                        yield delta
                    if decoder.error is not None:
                        break
            except ProviderError:
                if not decoder.complete:
                    raise  # a connection that breaks after the finish took nothing away
            for delta in decoder.flush():
                yield delta
            if decoder.error is not None:
                raise decoder.error
        finally:
            await response.aclose()
