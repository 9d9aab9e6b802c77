"""What the kernel tells `hermes doctor`: checks are contained, and wrong settings no hindrance."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from hermes_core.cli.inspection import RuntimeInspection, open_inspection
from hermes_plugins import DoctorCheck, Finding, HermesError, Host, Paths
from hermes_plugins.testing import VirtualClock


async def raises(host: Host) -> Sequence[Finding]:
    raise ValueError("the moon is down")


async def raises_for_the_person(host: Host) -> Sequence[Finding]:
    raise HermesError("plugins.p.moon is not set.", hint="`hermes config set plugins.p.moon up`")


async def gives_nonsense(host: Host) -> Sequence[Finding]:
    return ["fine"]  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("run", "level", "text", "hint"),
    [
        (raises, "warn", "ValueError: the moon is down", "hermes plugins disable p"),
        (raises_for_the_person, "fail", "plugins.p.moon is not set.", "config set plugins.p.moon"),
        (gives_nonsense, "warn", "gave something that is no Finding", "hermes plugins disable p"),
    ],
)
async def test_what_goes_wrong_in_a_check_is_a_finding(hermes, run, level, text, hint) -> None:
    async with hermes() as host:
        inspection = RuntimeInspection(host.runtime, "doctor")
        (found,) = await inspection.run("p", DoctorCheck(id="p.moon", title="Moon", run=run))
    assert found.level == level
    assert text in found.text
    assert hint in found.hint


async def test_a_check_that_hangs_is_left_after_its_time(hermes) -> None:
    clock = VirtualClock()

    async def hangs(host: Host) -> Sequence[Finding]:
        await host.clock.sleep(1000)
        return []

    async with hermes(clock=clock) as host:
        inspection = RuntimeInspection(host.runtime, "doctor")
        check = DoctorCheck(id="p.moon", title="Moon", run=hangs, seconds=7)
        running = asyncio.create_task(inspection.run("p", check))
        await clock.advance(8)
        (found,) = await running
    assert found.level == "warn"
    assert "took longer than 7 s" in found.text


async def test_settings_that_are_wrong_count_as_not_set(hermes_home: Path, tmp_path: Path) -> None:
    hermes_home.mkdir()
    (hermes_home / "hermes.yaml").write_text("plugins: {disabled: [todo]}\ngate: 7\n", "utf-8")
    paths = Paths(home=hermes_home, cache=hermes_home / "cache", logs=hermes_home / "logs")
    async with open_inspection(paths, "doctor", cwd=tmp_path, scratch=None) as inspection:
        states = {one.name: one.state for one in await inspection.plugins()}
    assert states["todo"] == "off"
    assert states["file"] == "on"


async def test_sessions_of_a_scratch_folder_are_not_those_of_the_home(
    hermes_home: Path, tmp_path: Path
) -> None:
    paths = Paths(home=hermes_home, cache=hermes_home / "cache", logs=hermes_home / "logs")
    async with open_inspection(paths, "doctor", cwd=tmp_path, scratch=tmp_path) as inspection:
        assert await inspection.face.sessions.list() == []
    assert (tmp_path / "state.db").exists()
    assert not (hermes_home / "state.db").exists()
