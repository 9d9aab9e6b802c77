"""The line with the date and time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hermes_plugin_now import Now, hermes_transform_turn

from hermes_plugins import ConfigError
from hermes_plugins.testing import FakeHost, VirtualClock


def host(folder: Path, zone: str = "") -> FakeHost:
    clock = VirtualClock(start=1_800_000_000.0)  # 2027-01-15 08:00 UTC
    return FakeHost(folder, plugin="now", section=Now(zone=zone), clock=clock)


async def test_the_time_stands_behind_what_others_added(tmp_path: Path) -> None:
    added = await hermes_transform_turn(host(tmp_path, "Asia/Kolkata"), ("recalled",))
    assert list(added) == ["recalled", "It is Friday, 2027-01-15 13:30+05:30."]


async def test_without_a_setting_it_is_this_machines_zone(tmp_path: Path) -> None:
    (line,) = await hermes_transform_turn(host(tmp_path), ())
    assert re.fullmatch(r"It is \w+day, 2027-01-1[45] \d\d:\d\d[+-]\d\d:\d\d\.", line)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../etc/passwd"])
async def test_an_unknown_zone_is_a_mistake_in_the_settings(tmp_path: Path, zone: str) -> None:
    with pytest.raises(ConfigError, match=r"plugins\.now\.zone: .* is not a known zone"):
        await hermes_transform_turn(host(tmp_path, zone), ())
