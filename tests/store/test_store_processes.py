"""Several real processes on one state.db, some of them killed in the middle of a write."""

import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from hermes_core.clock import SystemClock
from hermes_core.store.sqlite import Store
from hermes_plugins import Message, SessionBusy, SessionInfo

_PRELUDE = """
import asyncio, sys
from pathlib import Path
from hermes_core.clock import SystemClock
from hermes_core.store.sqlite import Store
from hermes_plugins import *

async def begin(store, name):
    if await store.get(name) is None:
        await store.create_session(SessionInfo(id=name), system="s" * 4000, tools=b"[]")
    lease = await store.acquire(name, holder="child")
    return lease, await store.open_for_writing(lease)

store = Store(Path(sys.argv[1]), clock=SystemClock(), process="child")
name = sys.argv[2]
"""

_MANY = (
    _PRELUDE
    + """
async def main():
    lease, _ = await begin(store, name)
    counter = store.records("test")
    for at in range(60):
        positions = await store.append(lease, [user_message(f"{name} {at} 北京")], final=at % 10 == 0)
        assert positions == [at + 1]
        while True:
            try:
                kept = await counter.get("count")
                count, version = (kept.value, kept.version) if kept else (0, 0)
                await counter.put("count", count + 1, version=version)
                break
            except StoreError as error:
                assert "is at version" in str(error), error
    await store.release(lease)
    await store.close()

asyncio.run(main())
"""
)

_ENDLESS = (
    _PRELUDE
    + """
async def main():
    lease, history = await begin(store, name)
    turn = len(history)
    while True:
        turn += 1
        calls = tuple(ToolCall(id=f"{turn}.{n}", name="t", arguments="{}") for n in range(3))
        steps = [user_message(f"ask {turn}"), assistant_message("", tool_calls=calls)]
        steps += [tool_message(call, f"result {call.id}") for call in calls]
        steps += [assistant_message(f"answer {turn}")]
        for step in steps:
            if step.role == "assistant":
                store.save_draft(lease, f"partial {turn}", "")
            positions = await store.append(lease, [step], final=step is steps[-1])
            print(positions[0], flush=True)

asyncio.run(main())
"""
)


def start(script: str, path: Path, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(path), name],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1"},
    )


async def test_several_processes_write_at_once_and_nothing_is_lost(path: Path) -> None:
    names = ["a", "b", "c", "d"]
    children = [start(_MANY, path, name) for name in names]
    for child in children:
        _, errors = child.communicate(timeout=120)
        assert child.returncode == 0, errors
        assert errors == ""
    store = Store(path, clock=SystemClock(), process="p")
    for name in names:
        stored = await store.messages(name)
        assert [one.position for one in stored] == list(range(1, 61))
        assert [one.message.text for one in stored] == [f"{name} {at} 北京" for at in range(60)]
    counted = await store.records("test").get("count")
    assert counted is not None
    assert counted.value == 240
    assert len((await store.search("北京", limit=1000)).hits) == 240
    assert not [line for line in await store.check() if "damaged" in line or "Search" in line]
    await store.close()


def kill_at(path: Path, lines: int) -> tuple[int, int]:
    """Let a writer acknowledge some messages, kill it at once; its last position, and its pid."""
    child = start(_ENDLESS, path, "s")
    assert child.stdout is not None
    last = 0
    for _ in range(lines):
        line = child.stdout.readline()
        assert line, child.stderr.read() if child.stderr else ""
        last = int(line)
    child.kill()
    rest, _ = child.communicate(timeout=60)
    # Only whole lines were acknowledged.
    whole = rest.rsplit("\n", 1)[0].split() if "\n" in rest else []
    return (int(whole[-1]) if whole else last), child.pid


@pytest.mark.parametrize("kills", [12, pytest.param(200, marks=pytest.mark.slow, id="200-slow")])
async def test_a_killed_writer_loses_nothing_it_acknowledged_and_its_session_goes_on(
    path: Path, kills: int
) -> None:
    rng = random.Random(7)
    for _ in range(kills):
        last, _ = kill_at(path, rng.randrange(1, 40))
        store = Store(path, clock=SystemClock(), process="p")
        lease = await store.acquire("s", holder="after")
        history = await store.open_for_writing(lease)
        positions = [one.position for one in history]
        assert positions == list(range(1, len(history) + 1))
        assert len(history) >= last
        check_valid([one.message for one in history])
        assert await store.messages("s") == history
        await store.release(lease)
        await store.close()


def check_valid(messages: Sequence[Message]) -> None:
    """Every call has its result before anything else comes."""
    pending: list[str] = []
    for message in messages:
        if message.role == "tool":
            assert message.tool_call_id == pending.pop(0)
        else:
            assert not pending
            pending = [call.id for call in message.tool_calls]
    assert not pending


@pytest.mark.skipif(os.name == "nt", reason="there a dead writer's lease has to run out")
async def test_the_lease_of_a_dead_process_is_taken_at_once_and_of_a_living_one_not(
    path: Path,
) -> None:
    child = start(_ENDLESS, path, "s")
    assert child.stdout is not None
    child.stdout.readline()
    store = Store(path, clock=SystemClock(), process="p")
    with pytest.raises(SessionBusy, match="in use by child"):
        await store.acquire("s", holder="me")
    await store.fork("s", info=SessionInfo(id="copy"))
    assert (await store.get("copy")) is not None
    child.kill()
    child.communicate(timeout=60)
    assert await store.acquire("s", holder="me")
    await store.close()


def test_a_process_that_forgets_to_close_ends_all_the_same(path: Path) -> None:
    script = _PRELUDE + "asyncio.run(begin(store, name))\nprint('end')"
    child = start(script, path, "s")
    output, errors = child.communicate(timeout=60)
    assert (child.returncode, output.strip(), errors) == (0, "end", "")
