"""Time belongs to the test: nothing here waits."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hermes_plugins import Reads, ToolContext, ToolError, tool
from hermes_plugins.testing import FakeContext, VirtualClock, call_tool


@tool(toolset="wait", effects=[Reads(arg="path")], timeout=120.0)
async def wait_for_file(context: ToolContext, path: str) -> str:
    """Wait up to a minute for a file."""
    start = context.clock.monotonic()
    while (await context.environment.stat(path)).kind == "missing":
        if context.clock.monotonic() - start >= 60:
            raise ToolError(f"{path} did not come.", kind="transient")
        await context.clock.sleep(5)
    return f"{path} is there after {context.clock.monotonic() - start:g} s."


async def test_it_gives_up_after_a_minute(tmp_path: Path) -> None:
    clock = VirtualClock(autojump=True)  # jumps to the next sleeper when every task waits
    with pytest.raises(ToolError, match="did not come"):
        await call_tool(wait_for_file, {"path": "a"}, FakeContext(tmp_path, clock=clock))
    assert clock.slept == [5] * 12


async def test_it_sees_the_file_when_it_comes(tmp_path: Path) -> None:
    clock = VirtualClock()  # stands still until it is moved
    context = FakeContext(tmp_path, clock=clock)
    waiting = asyncio.create_task(call_tool(wait_for_file, {"path": "a"}, context))
    await clock.advance(12)
    (tmp_path / "a").touch()
    await clock.advance(3)
    assert await waiting == "a is there after 15 s."
