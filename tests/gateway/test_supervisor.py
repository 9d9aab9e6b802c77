"""Keeping works running: pauses that grow, a fresh start after health, an end in time."""

import asyncio

import pytest

from hermes_core.gateway.supervisor import HEALTHY, LONGEST_PAUSE, Supervisor, pause
from hermes_plugins.testing import VirtualClock


@pytest.mark.parametrize("chance", [0.0, 0.5, 0.99])
def test_pauses_double_up_to_five_minutes_and_are_shortened_by_half_at_most(chance: float) -> None:
    pauses = [pause(falls, chance) for falls in range(1, 40)]
    for falls, seconds in enumerate(pauses):
        whole = min(LONGEST_PAUSE, 2.0**falls)
        assert whole / 2 <= seconds <= whole


async def test_a_work_that_falls_is_started_again_after_growing_pauses() -> None:
    clock, lives = VirtualClock(), []
    supervisor = Supervisor(clock)

    async def fall() -> None:
        lives.append(clock.now())
        raise OSError("no network")

    supervisor.start("irc", fall)
    for _ in range(4):
        await clock.advance(LONGEST_PAUSE)
    assert len(lives) > 4
    assert clock.slept[0] <= 1.0
    assert clock.slept[3] >= 4.0
    health = supervisor.health["irc"]
    assert (health.state, health.error) == ("waiting", "OSError: no network")
    await supervisor.stop(1.0)
    assert supervisor.health["irc"].state == "stopped"


async def test_after_a_healthy_while_the_pauses_begin_anew() -> None:
    clock = VirtualClock()
    supervisor = Supervisor(clock)
    lengths = iter([0.0, 0.0, 0.0, HEALTHY + 1])

    async def live() -> None:
        await clock.sleep(next(lengths, 10_000.0))
        raise OSError("gone")

    supervisor.start("irc", live)
    for _ in range(30):
        await clock.advance(5.0)
    assert clock.slept[-2] <= 1.0
    await supervisor.stop(1.0)


async def test_a_work_that_ends_by_itself_has_fallen_too() -> None:
    clock = VirtualClock()
    supervisor = Supervisor(clock)

    async def end() -> None:
        pass

    supervisor.start("irc", end)
    await clock.settle()
    assert supervisor.health["irc"].error == "it ended by itself"
    await supervisor.stop(1.0)


async def test_stopping_does_not_wait_for_ever() -> None:
    clock = VirtualClock()
    supervisor = Supervisor(clock)
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    supervisor.start("irc", stubborn)
    await clock.settle()
    stopping = asyncio.create_task(supervisor.stop(5.0))
    await clock.advance(6.0)
    assert stopping.done()
    release.set()
    await clock.settle()
