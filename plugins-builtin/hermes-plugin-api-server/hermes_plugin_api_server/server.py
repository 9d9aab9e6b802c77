"""The server: listens, serves until it is cancelled, and lets go of its clients in good order."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from starlette.applications import Starlette

from hermes_plugins import FaceHost, HermesError

from . import Settings, check, key_of
from .answering import Desk
from .app import make_app

BACKLOG: Final = 1024
IDLE_SECONDS: Final = 60
"""What an open connection may wait for its next request."""
GOODBYE_SECONDS: Final = 3.0
"""What interrupted turns get to tell their clients; the gateway waits 5."""
STOPPED: Final = "the gateway was stopped"


class ApiServer:
    """Implements the kit's `GatewayFace`, `Watched` and `Drained`."""

    def __init__(self, face: FaceHost) -> None:
        self._host = face.host
        self._settings = face.host.section(Settings)
        self._desk = Desk(face, self._settings)
        self._server: _Server | None = None
        self._served = asyncio.Event()
        self._draining = False
        self.port = 0
        """Where it listens; 0 before it does."""

    async def run(self) -> None:
        """Serve until cancelled.

        Raises:
            ConfigError: there is no key that can be used.
            HermesError: the address cannot be listened on.
        """
        check(self._host)
        with _logged(self._host.log), _listening(self._settings) as listener:
            self._server = _Server(_config(make_app(self._desk, key_of(self._host).strip())))
            self.port = listener.getsockname()[1]
            self._host.log.info("listens on %s:%d", self._settings.host, self.port)
            serving = asyncio.get_running_loop().create_task(self._server.serve(sockets=[listener]))
            try:
                await asyncio.shield(serving)
                self._served.set()
                if self._draining:  # until it is cancelled: ending would have it started again
                    await asyncio.Event().wait()
            finally:
                self._server.should_exit = True
                self._desk.interrupt(STOPPED)
                await self._say_goodbye(self._server, serving)

    def trouble(self) -> str:
        """ "" while it listens."""
        if self._draining:
            return "it takes nothing new: it is being stopped"
        return "" if self._server is not None and self._server.started else "it does not listen yet"

    async def drain(self) -> None:
        """Listen no longer, and return when the last client has its answer."""
        self._draining = True
        if self._server is not None:
            self._server.should_exit = True
            await self._served.wait()

    async def _say_goodbye(self, server: _Server, serving: asyncio.Task[None]) -> None:
        """Wait for the last answers, a while; being cancelled once more ends it at once."""
        try:
            async with self._host.clock.timeout(GOODBYE_SECONDS):
                await asyncio.wait({serving})
        except TimeoutError:
            self._host.log.warning("clients that did not take their answers were cut off")
        finally:
            if not serving.done():
                serving.cancel()
                for listening in server.servers if server.started else ():
                    listening.close()  # before its socket is: the loop still watches it
            self._served.set()


class _Server(uvicorn.Server):
    """A server in a program of ours: signals are not its business."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _config(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        interface="asgi3",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        backlog=BACKLOG,
    )


@contextmanager
def _listening(settings: Settings) -> Iterator[socket.socket]:
    """The socket.

    Raises:
        HermesError: the port is taken, or the address is not this machine's.
    """
    host, port = settings.host, settings.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise HermesError(
            f"{host}:{port} cannot be listened on: {_reason(error)}.",
            hint="`hermes config set plugins.api-server.port 8643` takes another port.",
        ) from error
    with listener:
        listener.setblocking(False)
        yield listener


def _reason(error: OSError) -> str:
    """The system's words; Python's own repeat the address."""
    known = error.errno is not None and error.errno > 0  # of a name that is not found it is not
    return os.strerror(error.errno) if known and error.errno is not None else str(error)


@contextmanager
def _logged(log: logging.Logger) -> Iterator[None]:
    """What uvicorn has to say goes to our log, and not to the terminal."""
    theirs, handler = logging.getLogger("uvicorn"), _Forward(log)
    theirs.addHandler(handler)
    theirs.propagate = False
    try:
        yield
    finally:
        theirs.removeHandler(handler)


class _Forward(logging.Handler):
    def __init__(self, log: logging.Logger) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.handle(record)
