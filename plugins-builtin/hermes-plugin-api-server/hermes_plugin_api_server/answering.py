"""Answering one request: a session, a turn, and what the turn tells as a stream or a whole answer.

A turn that failed before anything was shown is an HTTP error; later it is an error in the stream.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Final

import msgspec

from hermes_plugins import (
    Event,
    FaceHost,
    FaceSession,
    HermesError,
    MessageDone,
    ReasoningDelta,
    RunHandle,
    SessionBusy,
    SessionWish,
    TextDelta,
    TurnEnded,
)

from . import Settings
from .chunks import DONE, KEEPALIVE, ChunkWriter, completion
from .conversations import Conversations, Known
from .errors import ApiError, final
from .wire import Asked, noted

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

FACE: Final = "api-server"
SESSION_HEADER: Final = "x-hermes-session-id"
OPENING: Final = 8
"""Sessions that are opened at the same time. Each takes some milliseconds at a stretch: a crowd that
comes at once would hold up everybody else, a health check too, until all of it is in."""

_LEFT: Final = "the client left"
_ENDINGS: Final = {
    "completed": "stop",
    "guardrail": "stop",
    "budget": "length",
    "refused": "content_filter",
}
_Headers = list[tuple[bytes, bytes]]


class Desk:
    """What all requests share: the kernel, the settings, and which turns run."""

    def __init__(self, face: FaceHost, settings: Settings) -> None:
        self.face = face
        self.settings = settings
        self.conversations = Conversations()
        self.active: set[Answering] = set()
        self.opening = asyncio.Semaphore(OPENING)

    def interrupt(self, reason: str) -> None:
        """End every turn that runs."""
        for answering in list(self.active):
            answering.interrupt(reason)

    async def models(self) -> list[str]:
        """What clients may ask for: the configured model first."""
        allowed = self.settings.models
        known = await self.face.models() if "*" in allowed else ()
        named = [name for name in allowed if name != "*"]
        return list(dict.fromkeys([self.settings.model_name, *named, *known]))


class Answering:
    """One request while it is answered; an ASGI application of its own."""

    def __init__(self, desk: Desk, asked: Asked, *, session: str = "") -> None:
        self._desk = desk
        self._asked = asked
        self._wanted = session
        self._run: RunHandle | None = None
        self._stopped = ""
        self._finish = ""
        self._gap = False
        self._told: list[str] = []
        self._reply = _Reply(desk, asked)

    def interrupt(self, reason: str) -> None:
        """End the turn, also one that has not begun yet."""
        self._stopped = self._stopped or reason
        if self._run is not None:
            self._run.interrupt(reason)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if len(self._desk.active) >= self._desk.settings.max_runs:
            text = "too many requests are being answered; come back in a moment."
            await _send_error(
                send, ApiError(429, text, code="rate_limit_exceeded", headers={"retry-after": "1"})
            )
            return
        self._desk.active.add(self)
        watching = asyncio.get_running_loop().create_task(self._watch(receive))
        try:
            await self._answer(send)
        finally:
            watching.cancel()
            self._desk.active.discard(self)

    async def _watch(self, receive: Receive) -> None:
        """A client that leaves stops its turn."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self.interrupt(_LEFT)

    async def _answer(self, send: Send) -> None:
        try:
            async with self._desk.opening:
                session = await self._opened()
            self._reply.session = session.info.id
            try:
                end = await self._turn(session, send)
            finally:
                count = len(session.history)
                await session.close()  # before the last byte: the next request may go on with it
        except SessionBusy as error:
            await _send_error(send, ApiError(409, error.message, code="session_busy"))
        except ApiError as error:
            await _send_error(send, error)
        except HermesError as error:
            await _send_error(send, final(503, str(error), code="unavailable"))
        else:
            if end is not None and self._stopped != _LEFT:
                await self._conclude(send, end, Known(self._reply.session, count))

    # -- the session ---------------------------------------------------------------------

    async def _opened(self) -> FaceSession:
        asked, face = self._asked, self._desk.face
        provider, model = self._model()
        wish = SessionWish(face=FACE, interactive=False, provider=provider, model=model)
        if self._wanted:
            info = await face.sessions.get(self._wanted)
            if info is None or info.face != FACE:
                text = f"this server has no session {self._wanted!r}."
                raise ApiError(404, text, code="session_not_found", param="X-Hermes-Session-Id")
            session = await face.open(msgspec.structs.replace(wish, resume=self._wanted))
            if asked.instructions and not _knows(session, asked.instructions):
                message = noted(asked.message, asked.instructions)
                self._asked = msgspec.structs.replace(asked, message=message)
            return session
        if (known := self._desk.conversations.take(asked)) and (
            kept := await self._resumed(wish, known)
        ):
            return kept
        return await face.open(
            msgspec.structs.replace(wish, history=asked.history, instructions=asked.instructions)
        )

    async def _resumed(self, wish: SessionWish, known: Known) -> FaceSession | None:
        """The session of a conversation, unless somebody else went on with it or deleted it."""
        face = self._desk.face
        if await face.sessions.get(known.session) is None:
            return None
        try:
            session = await face.open(msgspec.structs.replace(wish, resume=known.session))
        except SessionBusy:
            return None
        if len(session.history) == known.messages:
            return session
        await session.close()
        return None

    def _model(self) -> tuple[str, str]:
        """Provider and model to open the session with; "" is what is configured."""
        name, settings = self._asked.model, self._desk.settings
        if name in ("", settings.model_name):
            return "", ""
        if name in settings.models or ("*" in settings.models and "/" in name):
            provider, slash, model = name.partition("/")
            return (provider, model) if slash else ("", name)
        text = f"there is no model {name!r} here; ask for {settings.model_name!r}."
        raise ApiError(404, text, code="model_not_found", param="model")

    # -- the turn ------------------------------------------------------------------------

    async def _turn(self, session: FaceSession, send: Send) -> TurnEnded | None:
        async with session.run(self._asked.message) as run:
            self._run = run
            if self._stopped:
                run.interrupt(self._stopped)
            events = aiter(run)
            clock, keepalive = self._desk.face.host.clock, self._desk.settings.keepalive
            while True:
                try:
                    async with clock.timeout(keepalive):
                        event = await anext(events)
                except StopAsyncIteration:
                    return run.end
                except TimeoutError:
                    await self._reply.keep_alive(send)
                else:
                    await self._show(event, send)

    async def _show(self, event: Event, send: Send) -> None:
        if isinstance(event, TextDelta):
            text = f"\n\n{event.text}" if self._gap else event.text
            self._gap = False
            self._told.append(text)
            await self._reply.text(send, text)
        elif isinstance(event, MessageDone):
            if event.message.role == "assistant":
                self._finish = str(event.message.meta.get("finish", ""))
                self._gap = bool(self._told)
        elif isinstance(event, ReasoningDelta) and self._desk.face.display.get("show_reasoning"):
            await self._reply.reasoning(send, event.text)

    async def _conclude(self, send: Send, end: TurnEnded, known: Known) -> None:
        reason = _ENDINGS.get(end.outcome, "")
        if end.outcome == "incomplete" and self._finish == "length":
            reason = "length"
        if not reason:
            await self._reply.fail(send, _failure(end))
            return
        answer = "".join(self._told) if self._asked.stream else end.text
        missing = "" if answer else end.reason
        await self._reply.end(send, (answer or missing, missing), reason, end)
        if end.outcome == "completed" and not self._wanted:
            self._desk.conversations.keep(self._asked, answer, known)


class _Reply:
    """What goes out: nothing until there is something, then a stream or a whole answer."""

    def __init__(self, desk: Desk, asked: Asked) -> None:
        self._asked = asked
        self._ident = f"chatcmpl-{secrets.token_hex(12)}"
        self._created = int(desk.face.host.clock.now())
        self._model = asked.model or desk.settings.model_name
        self._chunks = ChunkWriter(ident=self._ident, created=self._created, model=self._model)
        self._begun = False
        self.session = ""

    async def text(self, send: Send, text: str) -> None:
        """More of the answer."""
        if self._asked.stream:
            await self._stream(send, self._chunks.text(text))

    async def reasoning(self, send: Send, text: str) -> None:
        """More of what the model thinks."""
        if self._asked.stream:
            await self._stream(send, self._chunks.reasoning(text))

    async def keep_alive(self, send: Send) -> None:
        """Show a client, and what stands in between, that somebody is at it."""
        if self._asked.stream:
            await self._stream(send, KEEPALIVE)

    async def end(self, send: Send, text: tuple[str, str], reason: str, end: TurnEnded) -> None:
        """The end of an answer. ``text`` is the whole of it, and what was not streamed yet."""
        whole, missing = text
        if not self._asked.stream:
            about = {"ident": self._ident, "created": self._created, "model": self._model}
            body = completion(whole, reason, end.usage, **about)  # type: ignore[arg-type]
            await _send_whole(send, 200, body, self._headers())
            return
        last = self._chunks.text(missing) if missing else b""
        last += self._chunks.finish(reason)
        if self._asked.with_usage:
            last += self._chunks.usage(end.usage)
        await self._stream(send, last + DONE, more=False)

    async def fail(self, send: Send, error: ApiError) -> None:
        """The end of a turn that failed."""
        if self._begun:
            await self._stream(send, self._chunks.error(error.value) + DONE, more=False)
        else:
            await _send_error(send, error, self._headers())

    async def _stream(self, send: Send, data: bytes, *, more: bool = True) -> None:
        if not self._begun:
            self._begun = True
            headers = [
                (b"content-type", b"text/event-stream; charset=utf-8"),
                (b"cache-control", b"no-cache"),
                (b"x-accel-buffering", b"no"),
                *self._headers(),
            ]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            data = self._chunks.begin() + data
        await send({"type": "http.response.body", "body": data, "more_body": more})

    def _headers(self) -> _Headers:
        return [(SESSION_HEADER.encode(), self.session.encode())] if self.session else []


def _knows(session: FaceSession, instructions: str) -> bool:
    """Whether the model reads these instructions of the client already."""
    if instructions.strip() in session.system:
        return True
    return any(instructions in note for one in session.history for note in one.added)


def _failure(end: TurnEnded) -> ApiError:
    text = " ".join(filter(None, (end.reason, end.hint))) or end.outcome
    if end.outcome == "interrupted":
        return ApiError(503, text, code="interrupted")
    return final(502, text, code="turn_failed")


async def _send_error(send: Send, error: ApiError, headers: _Headers | None = None) -> None:
    more = [(name.encode(), value.encode()) for name, value in error.headers.items()]
    await _send_whole(send, error.status, error.body, [*(headers or []), *more])


async def _send_whole(send: Send, status: int, body: bytes, headers: _Headers) -> None:
    usual = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": [*usual, *headers]})
    await send({"type": "http.response.body", "body": body, "more_body": False})
