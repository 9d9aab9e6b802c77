"""The process tool, as the model meets it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hermes_plugin_terminal import process, terminal
from hermes_plugin_terminal.local import LocalEnvironment

from hermes_core.clock import SystemClock
from hermes_plugins import Process, ToolError, ToolResult, resolve_effects
from hermes_plugins.testing import FakeContext, FakeHost

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a POSIX shell")


@pytest.fixture
async def context(tmp_path: Path) -> AsyncIterator[FakeContext]:
    host = FakeHost(tmp_path / "home", clock=SystemClock())
    environment = LocalEnvironment(host, str(tmp_path))
    yield FakeContext(tmp_path, environment=environment, host=host)
    await environment.close()


async def call(
    context: FakeContext, action: str, name: str = "", **arguments: object
) -> ToolResult:
    result = await process.handler(context, action, name, **arguments)  # type: ignore[misc]
    assert isinstance(result, ToolResult)
    return result


async def start(context: FakeContext, command: str) -> Process:
    await terminal.handler(context, command, background=True)  # type: ignore[misc]
    return context.environment.processes()[-1]


async def printed(context: FakeContext, started: Process, text: str) -> None:
    """Return when it has printed that much."""
    for _ in range(500):
        if started.output()[0] == text:
            return
        await context.environment.exec("sleep 0.02")
    pytest.fail(f"printed {started.output()[0]!r}")


async def test_list_tells_each_with_its_state(context: FakeContext) -> None:
    assert (await call(context, "list")).text == "No background processes."
    first = await start(context, "exit 3")
    await first.wait()
    second = await start(context, "sleep 300")
    lines = (await call(context, "list")).text.splitlines()
    assert lines[0].startswith(f"p1  exit 3  pid {first.pid}  started ")
    assert lines[0].endswith(" s ago  exit 3")
    assert lines[1].startswith(f"p2  running  pid {second.pid}  started ")


async def test_poll_gives_what_is_new(context: FakeContext) -> None:
    started = await start(context, "printf '\\033[1mone\\033[0m\\n'; read x; echo two; exit 4")
    await printed(context, started, "\x1b[1mone\x1b[0m\n")
    assert (await call(context, "poll", "p1")).text == "one\n[p1 running]"
    assert (await call(context, "poll", "p1")).text == "[p1 running]"
    await call(context, "submit", "p1")
    await started.wait()
    assert (await call(context, "poll", "p1")).text == "two\n[p1 exit 4]"


async def test_poll_gives_the_end_of_what_is_too_much(context: FakeContext) -> None:
    context.result_chars = 1000
    started = await start(context, "yes | head -n 5000; echo end")
    await started.wait()
    text = (await call(context, "poll", "p1")).text
    assert text.startswith("[... 9,004 characters before this; see log ...]\n")
    assert text.endswith("y\nend\n[p1 exit 0]")


async def test_log_pages_through_lines(context: FakeContext) -> None:
    started = await start(context, "seq 1000")
    await started.wait()
    assert (await call(context, "log", "p1", limit=2)).text == (
        "999\n1000\n[p1 exit 0; lines 999 to 1000 of 1000]"
    )
    assert (await call(context, "log", "p1", offset=5, limit=2)).text == (
        "5\n6\n[p1 exit 0; lines 5 to 6 of 1000]"
    )
    assert (await call(context, "log", "p1", offset=-3, limit=1)).text.startswith("1\n[")


async def test_write_submit_and_close_reach_its_input(context: FakeContext) -> None:
    started = await start(context, "cat; echo end")
    assert (await call(context, "write", "p1", data="a")).text == "Sent 1 characters to p1."
    await call(context, "submit", "p1", data="b")
    assert (await call(context, "close", "p1")).text == "Closed the input of p1."
    await started.wait()
    assert (await call(context, "poll", "p1")).text == "ab\nend\n[p1 exit 0]"
    with pytest.raises(ToolError, match="p1 has ended"):
        await call(context, "write", "p1", data="x")


async def test_wait_returns_at_the_end_or_at_the_timeout(context: FakeContext) -> None:
    await start(context, "echo one; read x; echo two")
    early = await call(context, "wait", "p1", timeout=0.5)
    assert early.text == "one\n[p1 still running after 0.5 s]"
    waiting = asyncio.ensure_future(call(context, "wait", "p1", timeout=20))
    await call(context, "submit", "p1")
    assert (await waiting).text == "two\n[p1 exit 0]"


async def test_an_interrupt_ends_the_wait_and_not_the_process(context: FakeContext) -> None:
    started = await start(context, "sleep 300")
    waiting = asyncio.ensure_future(call(context, "wait", "p1"))
    await context.environment.exec("true")
    context.cancelled.set()
    result = await waiting
    assert (result.text, result.status) == ("[p1 running]", "interrupted")
    assert started.exit_code is None


async def test_kill_ends_it_and_gives_its_last_words(context: FakeContext) -> None:
    started = await start(context, "echo one; sleep 300")
    await printed(context, started, "one\n")
    assert (await call(context, "kill", "p1")).text == "one\n[p1 exit 143]"


async def test_an_unknown_id_names_the_known_ones(context: FakeContext) -> None:
    with pytest.raises(ToolError, match=r"no process 'p9'. None runs; terminal starts one"):
        await call(context, "poll", "p9")
    await start(context, "sleep 300")
    with pytest.raises(ToolError, match=r"no process 'p9'. There are: p1"):
        await call(context, "poll", "p9")
    with pytest.raises(ToolError, match="id is missing"):
        await call(context, "kill")


@pytest.mark.parametrize("action", ["list", "poll", "log", "wait", "kill", "close", "submit"])
def test_looking_at_own_processes_touches_nothing(action: str) -> None:
    effects = resolve_effects(process.effects, {"action": action, "id": "p1"})
    assert effects.only_reads


@pytest.mark.parametrize("action", ["write", "submit"])
def test_what_is_typed_is_judged_like_a_command(action: str) -> None:
    effects = resolve_effects(process.effects, {"action": action, "id": "p1", "data": "rm x"})
    assert effects.runs == ("rm x",)


def test_a_call_without_action_is_the_most_dangerous_kind() -> None:
    assert resolve_effects(process.effects, {}).unknown
