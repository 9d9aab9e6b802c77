"""The server in this process, on a free port, with a scripted model behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

import pytest
from hermes_plugin_api_server.server import ApiServer

from hermes_core.clock import SystemClock
from hermes_plugins.testing import ScriptedServer, TestHost
from hermes_plugins.testing._host import HostFactory

KEY = "sk-test-not-a-real-key"
LONG = 20.0
SETTINGS = {"plugins.api-server.key": KEY, "plugins.api-server.port": 0}


class Running:
    """A server that runs, and the host behind it."""

    def __init__(self, host: TestHost, server: ApiServer, task: asyncio.Task[None]) -> None:
        self.host = host
        self.server = server
        self.task = task

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    async def sessions(self) -> list[Any]:
        return list(await self.host.runtime.store.list(limit=1000))


Serve: TypeAlias = Callable[..., AbstractAsyncContextManager[Running]]


@pytest.fixture
def serve(hermes: HostFactory) -> Serve:
    """Runs the server."""

    @asynccontextmanager
    async def serve(
        model: ScriptedServer,
        *,
        settings: Mapping[str, object] | None = None,
        **more: Any,
    ) -> AsyncIterator[Running]:
        wanted = {**SETTINGS, **(settings or {})}
        async with hermes(server=model, settings=wanted, **more) as host:
            spec, face = await host.face("api-server")
            server = spec.make(face)
            assert isinstance(server, ApiServer)
            task = asyncio.create_task(server.run())
            async with SystemClock().timeout(LONG):
                while server.trouble() and not task.done():
                    await asyncio.sleep(0.005)
            try:
                yield Running(host, server, task)
            finally:
                task.cancel()
                await asyncio.wait({task})
            if not task.cancelled():
                task.result()

    return serve
