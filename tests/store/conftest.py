"""A store in a folder of the test's own, and a session in it that can be written."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from hermes_core.store.sqlite import Lease, Store
from hermes_plugins import SessionInfo
from hermes_plugins.testing import VirtualClock

Begin: TypeAlias = Callable[..., Awaitable[Lease]]


@pytest.fixture
def path(hermes_home: Path) -> Path:
    return hermes_home / "state.db"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
async def store(path: Path, clock: VirtualClock) -> AsyncIterator[Store]:
    store = Store(path, clock=clock, process="pid 1 on here")
    yield store
    await store.close()


@pytest.fixture
def begin(store: Store) -> Begin:
    """Creates a session in a store and takes it."""

    async def begin(name: str, *, into: Store = store, title: str = "") -> Lease:
        await into.create_session(SessionInfo(id=name, title=title), system="Be kind.", tools=b"[]")
        return await into.acquire(name, holder="cli")

    return begin
