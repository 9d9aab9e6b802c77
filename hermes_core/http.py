"""HTTP: the kit's `HttpClient` on httpx. The one file to change should the library change.

Measured costs that shape it: httpx imports rich when rich is installed (137 ms that nobody sees), a
TLS context costs 78 ms (made once, on the first https request), and one client at 200 streams costs
7.2 ms CPU a request where sharded ones cost 1.3.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

from hermes_plugins._clock import Clock
from hermes_plugins._errors import ProviderError
from hermes_plugins._http import HttpResponse, Timeouts

if TYPE_CHECKING:
    import ssl

    import httpx

STREAMS_PER_CLIENT = 16
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1", "[::1]"})


def import_httpx() -> None:
    """Import httpx without its command line, which would bring click, rich and pygments."""
    if "httpx" not in sys.modules:
        sys.modules["httpx._main"] = None  # type: ignore[assignment]  # "this module does not exist"
        try:
            import httpx  # noqa: F401
        finally:
            del sys.modules["httpx._main"]
        # httpcore looks for it at every request where it is not installed; looking once is enough.
        if find_spec("sniffio") is None:
            sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]


class KernelHttp:
    """Implements `HttpClient`: shared connections, sharded, one lazy TLS context."""

    def __init__(self, *, clock: Clock, force_ipv4: bool = False) -> None:
        self._clock = clock
        self._local_address = "0.0.0.0" if force_ipv4 else None
        self._shards: dict[str, list[_Shard]] = {}
        self._tls: ssl.SSLContext | None = None

    async def open(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        timeouts: Timeouts | None = None,
    ) -> HttpResponse:
        import_httpx()
        import httpx

        limits = timeouts or Timeouts()
        shard: _Shard | None = None
        try:
            target = httpx.URL(url)
            if target.scheme not in ("http", "https") or not target.host:
                raise httpx.UnsupportedProtocol("only http and https addresses can be opened")
            shard = self._shard(target)
            request = shard.client.build_request(
                method,
                target,
                headers=headers,
                content=content,
                timeout=httpx.Timeout(limits.idle, connect=limits.connect, read=limits.first),
            )
            async with self._clock.timeout(limits.first):
                response = await shard.client.send(request, stream=True)
        except TimeoutError:
            raise _failure(url, f"no answer within {limits.first:g} s", "timeout") from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise _translated(url, error) from error
        # httpcore reads this when the body starts: from here on only pauses are bounded.
        request.extensions["timeout"]["read"] = limits.idle
        shard.streams += 1
        return _Response(response, shard, url)

    async def aclose(self) -> None:
        """Close every connection."""
        shards = [shard for group in self._shards.values() for shard in group]
        self._shards.clear()
        for shard in shards:
            await shard.client.aclose()

    def _shard(self, target: httpx.URL) -> _Shard:
        kind = "local" if target.host in _LOOPBACK else target.scheme
        if target.scheme == "https" and kind == "local":
            kind = "https"
        group = self._shards.setdefault(kind, [])
        for shard in group:
            if shard.streams < STREAMS_PER_CLIENT:
                return shard
        group.append(_Shard(self._client(kind)))
        return group[-1]

    def _client(self, kind: str) -> httpx.AsyncClient:
        import httpx

        verify: ssl.SSLContext | bool = False  # plain http never gets as far as a certificate
        if kind == "https":
            self._tls = self._tls or httpx.create_ssl_context()
            verify = self._tls
        transport = None
        if self._local_address:
            transport = httpx.AsyncHTTPTransport(
                verify=verify, local_address=self._local_address, limits=_limits()
            )
        return httpx.AsyncClient(
            verify=verify,
            transport=transport,
            limits=_limits(),
            trust_env=kind != "local",  # loopback is never reached through a proxy
            headers=_HEADERS,
        )


_HEADERS = {"user-agent": "hermes", "accept-encoding": "identity"}


def _limits() -> httpx.Limits:
    import httpx

    return httpx.Limits(max_connections=None, max_keepalive_connections=20)


class _Shard:
    """A client and how many answers it is reading."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.streams = 0


class _Response:
    """Implements `HttpResponse`."""

    def __init__(self, response: httpx.Response, shard: _Shard, url: str) -> None:
        self._response = response
        self._shard: _Shard | None = shard
        self._url = url
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        import httpx

        encoded = self.headers.get("content-encoding", "identity") != "identity"
        pieces = self._response.aiter_bytes() if encoded else self._response.aiter_raw()
        try:
            async for piece in pieces:
                yield piece
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise _translated(self._url, error) from error

    async def read(self, *, limit: int = 10_000_000) -> bytes:
        body = bytearray()
        async for piece in self.chunks():
            body += piece
            if len(body) >= limit:
                break
        return bytes(body[:limit])

    async def aclose(self) -> None:
        if self._shard is not None:
            self._shard.streams -= 1
            self._shard = None
        await self._response.aclose()


def _translated(url: str, error: Exception) -> ProviderError:
    import httpx

    if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
        return _failure(url, "no connection in time", "timeout")
    if isinstance(error, httpx.TimeoutException):
        return _failure(url, "the server stopped sending", "timeout")
    if isinstance(error, httpx.ConnectError):
        text = _reason(error)
        if "certificate" in text.lower():
            return _failure(url, f"its certificate is not valid ({text})", "ssl_cert_verification")
        return _failure(url, f"no connection ({text})", "connection")
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol | ValueError):
        return _failure(url, f"not a usable address ({error})", "bad_url")
    if isinstance(error, httpx.RemoteProtocolError):
        return _failure(url, "closed before the answer was complete", "connection")
    return _failure(url, f"the connection broke ({_reason(error)})", "connection")


def _reason(error: Exception) -> str:
    inner: BaseException = error
    while inner.__cause__ is not None or inner.__context__ is not None:
        inner = inner.__cause__ or inner.__context__ or inner
    if isinstance(inner, OSError) and inner.errno is not None and inner.errno > 0:
        return os.strerror(inner.errno)  # asyncio's own text repeats the address as a tuple
    return str(inner) or str(error) or type(error).__name__


def _failure(url: str, what: str, reason: str) -> ProviderError:
    shown = url.split("?", 1)[0]  # a query may hold a key
    return ProviderError(f"{shown}: {what}", reason=reason)
