"""The kit's records in memory keep what the real ones promise."""

import pytest

from hermes_plugins import Json, Record, StoreError, update_record
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


async def test_what_comes_back_is_a_copy_and_json() -> None:
    records = FakeRecords(VirtualClock())
    value: list[int] = [1]
    await records.put("a", value)
    value.append(2)
    assert await records.get("a") == Record(key="a", value=[1], version=1)
    assert (await records.put("b", (1, 2))).value == [1, 2]
    with pytest.raises(StoreError, match="no JSON"):
        await records.put("c", object())


class Contested(FakeRecords):
    """Somebody else is faster, as often as it is told."""

    rivals = 0

    async def put(self, key: str, value: Json, *, version: int | None = None) -> Record:
        if self.rivals:
            self.rivals -= 1
            await super().put(key, "theirs")
        return await super().put(key, value, version=version)


async def test_an_update_is_repeated_on_what_somebody_else_kept_meanwhile() -> None:
    records = Contested(VirtualClock())
    seen: list[Json] = []

    def change(value: Json) -> Json:
        seen.append(value)
        return "mine"

    assert (await update_record(records, "a", change)).version == 1
    records.rivals = 2
    kept = await update_record(records, "a", change)
    assert (kept.value, kept.version) == ("mine", 4)
    assert seen == [None, "mine", "theirs", "theirs"]


async def test_an_update_that_cannot_be_kept_says_so_once() -> None:
    records = FakeRecords(VirtualClock())
    with pytest.raises(StoreError, match="no JSON"):
        await update_record(records, "a", lambda _: object())
    with pytest.raises(ZeroDivisionError):
        await update_record(records, "a", lambda _: 1 / 0)
    assert await records.get("a") is None
