"""A gateway that runs for long: what it holds in memory does not depend on how much it has seen."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from hermes_plugins.testing import ScriptedServer, replies

PEOPLE = 150
"""New conversations in each of the two halves that are compared."""


@pytest.mark.slow
async def test_memory_stays_flat_over_many_conversations(
    start: Callable[..., AbstractAsyncContextManager[Any]],
) -> None:
    with ScriptedServer(lambda request: replies.say("yes " * 200)) as server:
        async with start(server, allow=["*"], settings={"gateway.max_sessions": 8}) as running:
            sizes = []
            tracemalloc.start()
            try:
                for half in range(3):
                    for number in range(PEOPLE):
                        running.chat.say("word " * 200, sender=f"p{half}-{number}")
                        await running.chat.heard(1)
                        running.chat.sent.clear()
                        running.chat._receipts.clear()
                    server.requests.clear()
                    while len(running.gateway.workers):
                        await asyncio.sleep(0)
                    gc.collect()
                    sizes.append(tracemalloc.get_traced_memory()[0])
            finally:
                tracemalloc.stop()
            assert len(running.gateway.sessions) <= 8
    # The first half fills caches. A session that stayed open would cost some 40 kB.
    assert sizes[2] - sizes[1] < PEOPLE * 2_000, sizes
