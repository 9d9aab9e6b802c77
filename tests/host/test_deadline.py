"""A coroutine gets its time and no more, and behaves as if it were awaited the usual way."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from hermes_core.clock import SystemClock
from hermes_core.deadline import Deadline
from hermes_plugins.testing import VirtualClock


async def test_what_does_not_wait_is_done_at_once() -> None:
    async def work() -> str:
        return "done"

    clock = VirtualClock()
    assert await Deadline(clock).run(work(), 0.0) == "done"


async def test_what_waits_gets_its_time() -> None:
    clock = VirtualClock()

    async def work() -> str:
        await clock.sleep(4.9)
        await asyncio.sleep(0)
        return "done"

    running = asyncio.ensure_future(Deadline(clock).run(work(), 5.0))
    await clock.advance(4.9)
    assert await running == "done"


async def test_an_exception_comes_through() -> None:
    async def at_once() -> None:
        raise ValueError("one")

    async def later() -> None:
        await asyncio.sleep(0)
        raise ValueError("two")

    deadline = Deadline(VirtualClock())
    for work in (at_once, later):
        with pytest.raises(ValueError, match=r"one|two"):
            await deadline.run(work(), 5.0)


async def test_after_its_time_it_is_cancelled_and_may_clean_up() -> None:
    clock, cleaned, go_on = VirtualClock(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await go_on.wait()
            cleaned.set()

    running = asyncio.ensure_future(Deadline(clock).run(work(), 5.0))
    await clock.advance(5.0)
    with pytest.raises(TimeoutError):
        await running
    assert not cleaned.is_set()  # nobody waits for it
    go_on.set()
    await asyncio.wait_for(cleaned.wait(), 5)


async def test_what_goes_on_after_its_cancellation_is_left_behind() -> None:
    clock, over = VirtualClock(), asyncio.Event()
    rounds = 0

    async def work() -> None:
        nonlocal rounds
        while not over.is_set():
            try:
                rounds += 1
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                pass

    running = asyncio.ensure_future(Deadline(clock).run(work(), 5.0))
    await clock.advance(5.0)
    with pytest.raises(TimeoutError):
        await running
    before = rounds
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert rounds > before
    over.set()
    await asyncio.sleep(0)


async def test_an_answer_in_place_of_the_cancellation_is_too_late() -> None:
    clock = VirtualClock()

    async def work() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass
        return "allow"

    running = asyncio.ensure_future(Deadline(clock).run(work(), 5.0))
    await clock.advance(5.0)
    with pytest.raises(TimeoutError):
        await running


async def test_a_cancellation_from_outside_is_one() -> None:
    cleaned: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append("cleaned")

    running = asyncio.ensure_future(Deadline(VirtualClock()).run(work(), 5.0))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert cleaned == ["cleaned"]


async def test_time_outs_and_task_groups_inside_work_as_usual() -> None:
    async def work() -> list[str]:
        told = []
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            told.append("timed out")
        await asyncio.sleep(0)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(asyncio.sleep(5))
                group.create_task(fails())
                await asyncio.Event().wait()
        except* ValueError:
            told.append("failed together")
        await asyncio.sleep(0)
        return told

    async def fails() -> None:
        raise ValueError("no")

    told = await Deadline(SystemClock()).run(work(), 20.0)
    assert told == ["timed out", "failed together"]


def test_a_coroutine_that_never_ends_does_not_hold_up_the_end_of_the_process() -> None:
    program = (
        "import asyncio\n"
        "from hermes_core.clock import SystemClock\n"
        "from hermes_core.deadline import Deadline\n"
        "async def stubborn():\n"
        "    while True:\n"
        "        try:\n"
        "            await asyncio.sleep(0.001)\n"
        "        except asyncio.CancelledError:\n"
        "            pass\n"
        "async def main():\n"
        "    try:\n"
        "        await Deadline(SystemClock()).run(stubborn(), 0.01)\n"
        "    except TimeoutError:\n"
        "        print('leaving')\n"
        "asyncio.run(main())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "leaving\n")
