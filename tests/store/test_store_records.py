"""Plugins' records: kept, changed only by who knows the kept version, leased."""

import asyncio

import pytest

from hermes_core.store.sqlite import Store
from hermes_plugins import Json, Record, StoreError, update_record
from hermes_plugins.testing import VirtualClock


async def test_a_value_comes_back_with_its_version(store: Store) -> None:
    records = store.records("cron.jobs")
    assert await records.get("a") is None
    assert await records.put("a", {"n": [1, None, "x"]}) == Record(
        key="a", value={"n": [1, None, "x"]}, version=1
    )
    assert (await records.put("a", 2)).version == 2
    assert await records.get("a") == Record(key="a", value=2, version=2)


async def test_namespaces_do_not_see_each_other(store: Store) -> None:
    await store.records("one").put("a", 1)
    assert await store.records("two").get("a") is None
    assert await store.records("two").list() == []


async def test_a_change_against_an_older_version_is_refused(store: Store) -> None:
    records = store.records("n")
    await records.put("a", 1, version=0)
    with pytest.raises(StoreError, match="n a is at version 1, not 0"):
        await records.put("a", 2, version=0)
    await records.put("a", 2, version=1)
    with pytest.raises(StoreError, match="Read it again"):
        await records.put("a", 3, version=1)
    assert (await records.get("a")) == Record(key="a", value=2, version=2)


async def test_records_are_listed_by_key_and_beginning(store: Store) -> None:
    records = store.records("n")
    for key in ("b/2", "a/1", "b/1", "B/3"):
        await records.put(key, key)
    assert [record.key for record in await records.list()] == ["B/3", "a/1", "b/1", "b/2"]
    assert [record.key for record in await records.list(prefix="b/")] == ["b/1", "b/2"]
    assert [record.key for record in await records.list(prefix="%")] == []


async def test_a_forgotten_value_is_gone_and_forgetting_twice_is_fine(store: Store) -> None:
    records = store.records("n")
    await records.put("a", 1)
    await records.delete("a")
    await records.delete("a")
    assert await records.get("a") is None


async def test_a_value_that_is_no_json_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="the value of n a is no JSON"):
        await store.records("n").put("a", object())


async def test_a_lease_keeps_others_out_until_it_runs_out(
    store: Store, clock: VirtualClock
) -> None:
    records = store.records("n")
    assert await records.lease("tick", holder="one", seconds=10)
    assert not await records.lease("tick", holder="two", seconds=10)
    assert await records.lease("other", holder="two", seconds=10)
    await clock.advance(8)
    assert await records.lease("tick", holder="one", seconds=10)
    await clock.advance(8)
    assert not await records.lease("tick", holder="two", seconds=10)
    await clock.advance(2)
    assert await records.lease("tick", holder="two", seconds=10)
    assert not await records.lease("tick", holder="one", seconds=10)
    assert await records.lease("tick", holder="two", seconds=0)
    assert await records.lease("tick", holder="one", seconds=10)


async def test_a_write_that_fails_takes_nothing_of_its_neighbours_with_it(store: Store) -> None:
    records = store.records("n")
    await records.put("taken", 0)
    results = await asyncio.gather(
        *(records.put(f"k{at}", at) for at in range(20)),
        records.put("taken", 1, version=0),
        *(records.put(f"k{at}", at) for at in range(20, 40)),
        return_exceptions=True,
    )
    failed = [result for result in results if isinstance(result, BaseException)]
    assert len(failed) == 1
    assert len(await records.list(prefix="k")) == 40


async def test_updates_at_the_same_time_lose_nothing(store: Store) -> None:
    records = store.records("n")

    def grown(value: Json) -> Json:
        return [*(value if isinstance(value, list) else []), "x"]

    await asyncio.gather(*(update_record(records, "a", grown) for _ in range(20)))
    assert await records.get("a") == Record(key="a", value=["x"] * 20, version=20)


async def test_an_update_to_what_is_no_json_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="no JSON"):
        await update_record(store.records("n"), "a", lambda _: object())
