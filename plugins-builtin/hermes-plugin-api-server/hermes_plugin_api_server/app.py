"""The paths of the server, who may use them, and what a request may be."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from hermes_plugins import Json

from .answering import SESSION_HEADER, Answering, Desk
from .errors import ApiError
from .wire import read_request

BODY_SECONDS: Final = 60.0
"""What a client gets to send its request."""
MEGABYTE: Final = 1_000_000


def make_app(desk: Desk, key: str) -> Starlette:
    """The application: `/health` for everybody, the rest for who has the key."""
    pages = _Pages(desk, key.encode())
    origins = desk.settings.cors_origins
    cors = Middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=["GET", "POST"],
        allow_headers=["authorization", "content-type", SESSION_HEADER],
        expose_headers=[SESSION_HEADER],
    )
    return Starlette(
        routes=[
            Route("/health", pages.health, methods=["GET"]),
            Route("/v1/health", pages.health, methods=["GET"]),
            Route("/v1/models", pages.models, methods=["GET"]),
            Route("/v1/models/{name:path}", pages.model, methods=["GET"]),
            Route("/v1/chat/completions", pages.chat, methods=["POST"]),
        ],
        exception_handlers={ApiError: _refuse, HTTPException: _refuse_path, Exception: _apologise},
        middleware=[cors] if origins else [],
    )


class _Pages:
    """The endpoints."""

    def __init__(self, desk: Desk, key: bytes) -> None:
        self._desk = desk
        self._key = key

    async def health(self, request: Request) -> Response:
        """That it lives, for anybody."""
        return _json({"status": "ok"})

    async def models(self, request: Request) -> Response:
        """What clients may ask for."""
        self._check_key(request)
        listed = [_model(name) for name in await self._desk.models()]
        return _json({"object": "list", "data": listed})

    async def model(self, request: Request) -> Response:
        """One of these."""
        self._check_key(request)
        name = request.path_params["name"]
        if name not in await self._desk.models():
            raise ApiError(404, f"there is no model {name!r} here.", code="model_not_found")
        return _json(_model(name))

    async def chat(self, request: Request) -> _Answer:
        """A turn of the agent."""
        self._check_key(request)
        asked = read_request(await self._body(request))
        session = request.headers.get(SESSION_HEADER, "").strip()
        return _Answer(Answering(self._desk, asked, session=session))

    def _check_key(self, request: Request) -> None:
        kind, _, sent = request.headers.get("authorization", "").partition(" ")
        given = sent.strip().encode("latin-1", "replace")
        if kind.lower() != "bearer" or not hmac.compare_digest(given, self._key):
            text = "this server needs its key: Authorization: Bearer API_SERVER_KEY"
            raise ApiError(
                401, text, code="invalid_api_key", headers={"www-authenticate": "Bearer"}
            )

    async def _body(self, request: Request) -> bytes:
        limit = int(self._desk.settings.max_body_megabytes * MEGABYTE)
        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length) > limit:
            raise _too_long(limit)
        body = bytearray()
        try:
            async with self._desk.face.host.clock.timeout(BODY_SECONDS):
                async for piece in request.stream():
                    body += piece
                    if len(body) > limit:
                        raise _too_long(limit)
        except TimeoutError:
            text = f"the request did not arrive within {BODY_SECONDS:g} s."
            raise ApiError(408, text, headers={"connection": "close"}) from None
        except ClientDisconnect:
            raise ApiError(400, "the client left.") from None
        return bytes(body)


class _Answer(Response):
    """An answer that sends itself."""

    def __init__(self, answering: Answering) -> None:
        super().__init__()
        self._answering = answering

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answering(scope, receive, send)


def _model(name: str) -> dict[str, Json]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "hermes"}


def _json(value: Json) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")


def _too_long(limit: int) -> ApiError:
    text = f"the request is longer than {limit / MEGABYTE:g} MB (plugins.api-server.max_body_megabytes)."
    # The connection stays: what is still coming is read and dropped. Closing it would cut the client
    # off in the middle of its sending, and it would never read why.
    return ApiError(413, text, code="request_too_large")


def _error(error: ApiError) -> Response:
    return Response(error.body, error.status, error.headers, media_type="application/json")


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return _error(error)


async def _refuse_path(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        text = f"there is no {request.method} {request.url.path} here; see /v1/chat/completions."
    else:
        text = f"{request.method} {request.url.path}: {error.detail}"
    return _error(ApiError(error.status_code, text, code="unknown_url", headers=error.headers))


async def _apologise(request: Request, error: Exception) -> Response:
    return _error(ApiError(500, "the server failed; logs/hermes.log has the details."))


Handler = Callable[[Request, Exception], Awaitable[Response]]
