"""Homes with sessions in them, and the command that looks after those."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec
import pytest

from hermes_core.cli.app import run
from hermes_core.clock import SystemClock
from hermes_core.naming import rename
from hermes_core.store.sqlite import Store
from hermes_plugins import (
    Message,
    SessionInfo,
    ToolCall,
    Usage,
    assistant_message,
    tool_message,
    user_message,
)

DAY = 86_400.0

Fill: TypeAlias = Callable[..., None]


class Said(msgspec.Struct, frozen=True):
    """What a command said."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Say: TypeAlias = Callable[..., Said]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """``hermes sessions`` with these words, in this process."""

    def say(*words: str) -> Said:
        capsys.readouterr()
        status = run(["sessions", *words])
        shown = capsys.readouterr()
        return Said(status, shown.out, shown.err)

    return say


def talk(about: str) -> list[Message]:
    """A question, a call, its result and an answer."""
    call = ToolCall(id="c1", name="terminal", arguments='{"command":"ls"}')
    return [
        user_message(f"tell me of {about}", added=("It is Monday.",)),
        assistant_message("", tool_calls=(call,)),
        tool_message(call, f"{about}.txt"),
        assistant_message(f"all of {about} 你好"),
    ]


@pytest.fixture
def fill(hermes_home: Path) -> Fill:
    """Puts sessions into the home (or ``home``), last used ``days`` ago; ``title`` is a person's."""

    def fill(
        *ids: str,
        home: Path = hermes_home,
        days: float = 0,
        title: str = "",
        parent: str = "",
        messages: Sequence[Message] | None = None,
    ) -> None:
        async def write() -> None:
            store = Store(home / "state.db", clock=SystemClock(), process="test")
            time = SystemClock().now() - days * DAY
            for one in ids:
                info = SessionInfo(
                    id=one,
                    model="custom/m",
                    workspace="/w",
                    parent=parent,
                    kind="subagent" if parent else "",
                    created=time,
                )
                await store.create_session(info, system=f"Be kind to {one}.", tools=b"[]")
                lease = await store.acquire(one, holder="cli")
                said = talk(one) if messages is None else messages
                await store.append(lease, said, usage={"m": Usage(input=5)}, model_calls=2)
                await store.release(lease)
                if title:
                    await rename(store, one, title)
                else:
                    await store.entitle(one, f"tell me of {one}")
                await store.write(_last_used, one, time)
            await store.close()

        asyncio.run(write())

    return fill


def _last_used(connection, session: str, time: float) -> None:
    connection.execute("UPDATE sessions SET updated = ? WHERE id = ?", (time, session))


@pytest.fixture
def check_sound(hermes_home: Path) -> Callable[[], None]:
    """Asserts that the file is whole, and every session in it is."""
    from hermes_core.store import checkup, salvage

    def check() -> None:
        path = hermes_home / "state.db"
        assert salvage.damage(path) == ""

        async def look() -> list[str]:
            store = Store(path, clock=SystemClock(), process="test")
            try:
                assert await store.read(checkup.lost) == 0
                return (await store.read(checkup.look, store.now())).lines()
            finally:
                await store.close()

        assert asyncio.run(look()) == []

    return check
