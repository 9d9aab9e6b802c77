"""A model server on loopback that answers by script, in a daemon thread of its own.

It speaks HTTP/1.1 with keep-alive and, for streams, chunked server-sent events: every event is an
HTTP chunk that leaves at once, as with a real model. It keeps every request, body bytes included, so
that a test can say what was sent. Nothing sleeps: a slow answer waits for an event that the test sets.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TypeAlias

import msgspec

from hermes_plugins._messages import Json
from hermes_plugins.testing.replies import Reply, fail

Script: TypeAlias = Callable[["ScriptedRequest"], Reply]

_LAST_CHUNK = b"0\r\n\r\n"


class ScriptedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it arrived; header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def json(self) -> dict[str, Json]:
        """The body, decoded."""
        return msgspec.json.decode(self.body, type=dict[str, Json])

    @property
    def messages(self) -> list[dict[str, Json]]:
        """The messages of a chat-completions body."""
        return msgspec.convert(self.json["messages"], list[dict[str, Json]])


class ScriptedServer:
    """Answers ``POST`` with the next reply of the script and ``GET …/models`` with the models.

    ``script`` is a list of replies, one a request, or a function of the request. Once a list is used
    up, ``then`` answers; without it that is a 400 that says so. ``only`` is the path below which there
    is anything at all, the rest a 404; ``key`` the one that is accepted, without it a 401. A context
    manager; `url` is what a provider's base_url is set to.
    """

    def __init__(
        self,
        script: Iterable[Reply] | Script = (),
        *,
        then: Reply | None = None,
        models: Sequence[str] = ("scripted",),
        port: int = 0,
        only: str = "",
        key: str = "",
    ) -> None:
        self._only = only
        self._key = key
        self._function = script if callable(script) else None
        self._replies = [] if callable(script) else list(script)
        self._then = then
        self._models = models
        self._port = port
        self._changed = threading.Condition()
        self._connections: set[socket.socket] = set()
        self._waiting: set[threading.Event] = set()
        self._listener: socket.socket | None = None
        self._closed = False
        self.requests: list[ScriptedRequest] = []
        """Every POST, in order of arrival."""
        self.connections = 0
        """How many connections were opened so far."""

    @property
    def url(self) -> str:
        """The base URL, with ``/v1``."""
        return f"http://127.0.0.1:{self._port}/v1"

    def script(self, *replies: Reply) -> None:
        """Add replies to the end of the list."""
        with self._changed:
            self._replies += replies

    def wait_for_requests(self, count: int, *, seconds: float = 10.0) -> None:
        """Block this thread until that many requests have arrived.

        Raises:
            TimeoutError: they did not.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= count, timeout=seconds):
                raise TimeoutError(f"{len(self.requests)} requests arrived, {count} were expected")

    def wait_for_hangup(self, *, seconds: float = 10.0) -> None:
        """Block this thread until every client has hung up.

        Raises:
            TimeoutError: one has not.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: not self._connections, timeout=seconds):
                raise TimeoutError(f"{len(self._connections)} connections are still open")

    def start(self) -> None:
        """Listen."""
        self._listener = socket.create_server(("127.0.0.1", self._port), backlog=256)
        self._port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        """Stop listening and drop every connection; whoever waits is woken."""
        self._closed = True
        if self._listener is not None:
            _shut(self._listener)
        with self._changed:
            for event in self._waiting:
                event.set()
            for connection in self._connections:
                _shut(connection, close=False)  # its own thread closes it

    def __enter__(self) -> ScriptedServer:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _accept(self, listener: socket.socket) -> None:
        while not self._closed:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._changed:
                self._connections.add(connection)
                self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection.makefile("rb") as stream:
                while not self._closed:
                    request = _read_request(stream.readline, stream.read)
                    if request is None or not self._answer(connection, request):
                        return
        except (OSError, ValueError):
            return  # the client went away, or the test is over
        finally:
            with self._changed:
                self._connections.discard(connection)
                self._changed.notify_all()
            _shut(connection)

    def _answer(self, connection: socket.socket, request: ScriptedRequest) -> bool:
        """Send a reply; False when the connection is to be closed."""
        if not request.path.startswith(self._only):
            _send_whole(connection, fail(404, "Not Found"))
            return True
        if self._key and request.headers.get("authorization") != f"Bearer {self._key}":
            _send_whole(connection, fail(401, "Incorrect API key provided."))
            return True
        if request.method == "GET":
            listed = [{"id": model, "object": "model"} for model in self._models]
            _send_whole(connection, Reply(body=msgspec.json.encode({"data": listed})))
            return True
        reply = self._next(request)
        if reply.end == "hang" and not reply.events:
            return self._stay_silent(connection)
        asked = request.body.replace(b" ", b"")
        if not reply.events or not (reply.raw or b'"stream":true' in asked):
            self._hold(reply, 0)
            _send_whole(connection, reply)
            return reply.end != "cut"
        return self._stream(connection, reply, usage=b'"include_usage":true' in asked)

    def _next(self, request: ScriptedRequest) -> Reply:
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            if self._function is None:
                if self._replies:
                    return self._replies.pop(0)
                text = f"the script is over: request {len(self.requests)} was not expected"
                return self._then or fail(400, text)
        return self._function(request)

    def _stream(self, connection: socket.socket, reply: Reply, *, usage: bool) -> bool:
        kind = reply.content_type if reply.raw else "text/event-stream"
        head = _head(reply, kind, "transfer-encoding: chunked")
        connection.sendall(head)
        for number, event in enumerate(reply.events):
            self._hold(reply, number)
            last = number == len(reply.events) - 1
            unfinished = last and reply.end == "no_done"
            framed = b"data: " + event + (b"" if unfinished else b"\n\n")
            connection.sendall(_chunk(event if reply.raw else framed))
        if reply.end == "cut":
            return False
        if reply.end == "hang":
            return self._stay_silent(connection)
        tail = b""
        if reply.end == "done" and not reply.raw:
            if usage and reply.usage:
                tail += _chunk(b"data: " + reply.usage + b"\n\n")
            tail += _chunk(b"data: [DONE]\n\n")
        connection.sendall(tail + _LAST_CHUNK)
        return True

    def _hold(self, reply: Reply, number: int) -> None:
        if reply.release is None or number != reply.held_at:
            return
        with self._changed:
            self._waiting.add(reply.release)
        if not self._closed:
            reply.release.wait()

    def _stay_silent(self, connection: socket.socket) -> bool:
        """Until the client hangs up or the server closes."""
        connection.recv(1)
        return False


def _read_request(
    readline: Callable[[int], bytes], read: Callable[[int], bytes]
) -> ScriptedRequest | None:
    start = readline(65536).split()
    if len(start) < 2:
        return None
    headers = {}
    while line := readline(65536).strip():
        name, _, value = line.partition(b":")
        headers[name.decode("latin-1").lower()] = value.strip().decode("latin-1")
    body = read(int(headers.get("content-length", "0")))
    method, path = start[0].decode("ascii"), start[1].decode("latin-1")
    return ScriptedRequest(method=method, path=path, headers=headers, body=body)


def _send_whole(connection: socket.socket, reply: Reply) -> None:
    length = f"content-length: {len(reply.body)}"
    body = reply.body[: len(reply.body) // 2] if reply.end == "cut" else reply.body
    connection.sendall(_head(reply, reply.content_type, length) + body)


def _head(reply: Reply, content_type: str, length: str) -> bytes:
    lines = [f"HTTP/1.1 {reply.status} Scripted", f"content-type: {content_type}", length]
    lines += [f"{name}: {value}" for name, value in reply.headers.items()]
    return "\r\n".join([*lines, "\r\n"]).encode("latin-1")


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _shut(sock: socket.socket, *, close: bool = True) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # not connected any more
    if close:
        sock.close()
