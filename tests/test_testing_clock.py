"""The kit's virtual clock."""

import asyncio

import pytest

from hermes_plugins.testing import VirtualClock


async def test_sleepers_wake_in_order_when_time_is_moved() -> None:
    clock = VirtualClock()
    woken: list[str] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(name)

    tasks = [asyncio.create_task(sleeper("late", 5)), asyncio.create_task(sleeper("soon", 1))]
    await clock.advance(1)
    assert woken == ["soon"]
    await clock.advance(4)
    assert woken == ["soon", "late"]
    await asyncio.gather(*tasks)


async def test_a_timeout_runs_out_in_virtual_time_only() -> None:
    clock = VirtualClock()

    async def bounded() -> None:
        async with clock.timeout(10):
            await asyncio.Event().wait()

    task = asyncio.create_task(bounded())
    await clock.advance(9)
    assert not task.done()
    await clock.advance(1)
    with pytest.raises(TimeoutError):
        await task


async def test_a_rescheduled_timeout_waits_for_its_new_end() -> None:
    clock = VirtualClock()

    async def bounded() -> str:
        async with clock.timeout(10) as timeout:
            await clock.sleep(9)
            timeout.reschedule(10)
            await clock.sleep(9)
        return "done"

    task = asyncio.create_task(bounded())
    await clock.advance(20)
    assert await task == "done"
