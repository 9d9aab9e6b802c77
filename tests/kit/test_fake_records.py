"""The kit's records in memory keep what the real ones promise."""

import pytest

from hermes_plugins import StoreError
from hermes_plugins.testing import FakeRecords, VirtualClock


async def test_a_value_comes_back_with_its_version_and_can_be_forgotten() -> None:
    records = FakeRecords(VirtualClock())
    assert (await records.put("a", 1)).version == 1
    assert (await records.put("a", 2)).version == 2
    kept = await records.get("a")
    assert kept is not None
    assert kept.value == 2
    await records.delete("a")
    assert await records.get("a") is None


async def test_a_change_against_an_older_version_is_refused() -> None:
    records = FakeRecords(VirtualClock())
    await records.put("a", 1, version=0)
    with pytest.raises(StoreError):
        await records.put("a", 2, version=0)


async def test_a_lease_is_free_again_when_it_has_run_out() -> None:
    clock = VirtualClock()
    records = FakeRecords(clock)
    assert await records.lease("job", holder="one", seconds=10)
    assert not await records.lease("job", holder="two", seconds=10)
    await clock.advance(10)
    assert await records.lease("job", holder="two", seconds=10)


async def test_records_are_listed_by_key() -> None:
    records = FakeRecords(VirtualClock())
    for key in ("b.1", "a", "b.0"):
        await records.put(key, key)
    assert [one.key for one in await records.list(prefix="b.")] == ["b.0", "b.1"]
