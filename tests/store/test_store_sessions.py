"""Sessions through the store's door: written, read, taken, resumed, copied, deleted."""

import random
import re
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec
import pytest

from hermes_core.naming import rename
from hermes_core.store import sessions, transfer
from hermes_core.store.sqlite import Lease, Store, new_session_id
from hermes_plugins import (
    Message,
    SessionBusy,
    SessionInfo,
    StoredMessage,
    StoreError,
    ToolCall,
    Usage,
    assistant_message,
    tool_message,
    user_message,
)
from hermes_plugins.testing import VirtualClock

Begin: TypeAlias = Callable[..., Awaitable[Lease]]

CALLS = tuple(ToolCall(id=f"c{at}", name="read_file", arguments="{}") for at in (1, 2, 3))


def texts(messages: Sequence[StoredMessage]) -> list[str]:
    return [stored.message.text for stored in messages]


def change(path: Path, statement: str, *values: object) -> None:
    """What a hand with the sqlite3 shell does."""
    connection = sqlite3.connect(path)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def test_a_session_id_is_the_local_time_and_six_hex_digits() -> None:
    name = new_session_id(1_800_000_000.0, random.Random(1))
    assert re.fullmatch(r"2027011[456]_\d{6}_[0-9a-f]{6}", name)
    assert name != new_session_id(1_800_000_000.0, random.Random(2))


async def test_nothing_is_made_before_the_first_use(store: Store, path: Path) -> None:
    assert not path.parent.exists()
    assert await store.get("x") is None
    assert path.exists()


async def test_messages_come_back_as_they_were_in_order_from_position_one(
    store: Store, begin: Begin
) -> None:
    lease = await begin("s")
    first = user_message("hello", added=("It is Monday.",))
    second = assistant_message("let me see", tool_calls=CALLS[:1])
    assert await store.append(lease, [first]) == [1]
    assert await store.append(lease, [second, tool_message(CALLS[0], "42")], final=True) == [2, 3]
    stored = await store.messages("s")
    assert [one.position for one in stored] == [1, 2, 3]
    assert [one.message for one in stored] == [first, second, tool_message(CALLS[0], "42")]
    assert texts(await store.messages("s", after=1, limit=1)) == ["let me see"]


async def test_the_prompt_and_the_tools_are_kept_with_the_session(
    store: Store, begin: Begin
) -> None:
    lease = await begin("s")
    setup = await store.setup("s")
    assert (setup.system, setup.tools) == ("Be kind.", b"[]")
    await store.update_setup(lease, system="Be brief.", tools=b"[1]")
    setup = await store.setup("s")
    assert (setup.system, setup.tools) == ("Be brief.", b"[1]")


async def test_a_prompt_that_many_sessions_share_is_kept_once(
    store: Store, begin: Begin, path: Path
) -> None:
    for name in ("a", "b", "c"):
        await begin(name)
    await store.close()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM texts").fetchone() == (2,)
    connection.close()


async def test_usage_adds_up_per_model_and_unknown_cost_stays_unknown(
    store: Store, begin: Begin
) -> None:
    lease = await begin("s")
    for _ in range(2):
        used = {"a/x": Usage(input=10, output=2, cost=0.5), "b/y": Usage(input=1)}
        await store.append(lease, [user_message("hi")], usage=used, model_calls=2)
    assert await store.usage("s") == {
        "a/x": Usage(input=20, output=4, cost=1.0),
        "b/y": Usage(input=2),
    }
    info = await store.get("s")
    assert info is not None
    assert info.usage == Usage(input=22, output=4, cost=1.0)
    assert info.message_count == 2


async def test_sessions_are_listed_by_last_use(
    store: Store, begin: Begin, clock: VirtualClock
) -> None:
    leases = {}
    for name in ("a", "b", "c"):
        leases[name] = await begin(name)
        await clock.advance(1)
    await store.append(leases["a"], [user_message("again")])
    listed = await store.list()
    assert [info.id for info in listed] == ["a", "c", "b"]
    assert [info.id for info in await store.list(limit=1, before=listed[0].updated)] == ["c"]


async def test_a_session_is_found_by_id_by_title_and_by_a_beginning_that_fits_one(
    store: Store, begin: Begin
) -> None:
    await begin("20270101_100000_aaaaaa", title="taxes")
    await begin("20270102_100000_bbbbbb", title="taxes")
    await begin("20270103_100000_cccccc", title="20270101_100000_aaaaaa")

    async def found(name: str) -> set[str]:
        return {info.id[-6:] for info in await store.find(name)}

    assert await found("20270101_100000_aaaaaa") == {"aaaaaa"}
    assert await found("taxes") == {"aaaaaa", "bbbbbb"}
    assert await found("20270102") == {"bbbbbb"}
    assert await found("2027") == set()
    assert await found("tax") == set()
    assert await found("") == set()


async def test_a_session_id_is_given_once(store: Store, begin: Begin) -> None:
    await begin("s")
    with pytest.raises(StoreError, match="there is a session s already"):
        await store.create_session(SessionInfo(id="s"), system="", tools=b"")


async def test_what_is_asked_of_a_session_that_is_not_there_says_so(store: Store) -> None:
    for asked in (
        store.acquire("no", holder="cli"),
        store.setup("no"),
        store.write(sessions.rename, "no", "x"),
        store.delete("no"),
        store.read(transfer.export, "no"),
        store.fork("no", info=SessionInfo(id="f")),
    ):
        with pytest.raises(StoreError, match="there is no session no"):
            await asked


async def test_an_export_is_the_session_and_its_messages_as_json_lines(
    store: Store, begin: Begin
) -> None:
    lease = await begin("s", title="T")
    await store.append(lease, [user_message("a\nb")])
    exported = await store.read(transfer.export, "s")
    lines = transfer.written(exported, as_json=True).splitlines()
    assert len(lines) == 2
    assert msgspec.json.decode(lines[0])["session"]["title"] == "T"
    assert msgspec.json.decode(lines[1], type=StoredMessage).message.text == "a\nb"


# ---- the lease ---------------------------------------------------------------------------


async def test_a_second_writer_is_told_who_has_the_session(store: Store, begin: Begin) -> None:
    lease = await begin("s")
    with pytest.raises(SessionBusy, match=r"in use by cli pid 1 on here\..*--fork"):
        await store.acquire("s", holder="gateway")
    await store.release(lease)
    assert (await store.acquire("s", holder="gateway")).session_id == "s"


async def test_a_lease_lasts_thirty_seconds_from_its_last_use(
    store: Store, begin: Begin, clock: VirtualClock
) -> None:
    lease = await begin("s")
    await clock.advance(20)
    await lease.renew()
    await clock.advance(20)
    await store.append(lease, [user_message("hi")])
    await clock.advance(29)
    with pytest.raises(SessionBusy):
        await store.acquire("s", holder="other")
    await clock.advance(2)
    await store.acquire("s", holder="other")


async def test_a_lease_from_a_clock_that_was_set_back_does_not_hold(
    store: Store, begin: Begin, clock: VirtualClock
) -> None:
    await begin("s")
    past = Store(store.path, clock=VirtualClock(start=clock.now() - 86_400), process="p")
    assert await past.acquire("s", holder="cli")
    await past.close()


async def test_who_lost_the_session_can_write_nothing_more(
    store: Store, begin: Begin, clock: VirtualClock
) -> None:
    stale = await begin("s")
    await clock.advance(31)
    await store.acquire("s", holder="other")
    with pytest.raises(SessionBusy, match="other pid 1 on here, which took it over"):
        await store.append(stale, [user_message("too late")], usage={"m": Usage(input=1)})
    with pytest.raises(SessionBusy):
        await stale.renew()
    with pytest.raises(SessionBusy):
        await store.update_setup(stale, system="", tools=b"")
    store.save_draft(stale, "too late", "")
    await store.release(stale)
    with pytest.raises(SessionBusy):
        await store.acquire("s", holder="third")
    assert await store.messages("s") == []
    assert await store.usage("s") == {}


async def test_who_gave_the_session_back_can_write_nothing_more(store: Store, begin: Begin) -> None:
    lease = await begin("s")
    await store.release(lease)
    with pytest.raises(StoreError, match="was given back"):
        await store.append(lease, [user_message("too late")])


# ---- resuming ----------------------------------------------------------------------------


async def test_calls_without_a_result_are_closed_as_interrupted(store: Store, begin: Begin) -> None:
    lease = await begin("s")
    call = assistant_message("", tool_calls=CALLS)
    await store.append(lease, [user_message("go"), call, tool_message(CALLS[0], "one")])
    history = await store.open_for_writing(lease)
    assert [(one.position, one.message.tool_call_id) for one in history[2:]] == [
        (3, "c1"),
        (4, "c2"),
        (5, "c3"),
    ]
    assert history[2].message.status == "ok"
    assert {one.message.status for one in history[3:]} == {"interrupted"}
    assert "may or may not have taken effect" in history[4].message.text
    assert await store.messages("s") == history
    assert await store.open_for_writing(lease) == history


async def test_a_partial_answer_is_kept_and_marked(store: Store, begin: Begin) -> None:
    lease = await begin("s")
    await store.append(lease, [user_message("tell me")])
    store.save_draft(lease, "Once", "hm")
    store.save_draft(lease, "Once upon", "hm hm")
    history = await store.open_for_writing(lease)
    assert history[1].message.text == "Once upon"
    assert history[1].message.reasoning == "hm hm"
    assert history[1].message.status == "interrupted"
    assert await store.open_for_writing(lease) == history


async def test_the_message_itself_takes_the_place_of_its_draft(store: Store, begin: Begin) -> None:
    lease = await begin("s")
    store.save_draft(lease, "Once", "")
    await store.append(lease, [assistant_message("Once upon a time.")])
    assert texts(await store.open_for_writing(lease)) == ["Once upon a time."]


@pytest.mark.parametrize("broken", ["{", "[]", '{"role":"boss"}', "", b"\xff\xfe"])
async def test_an_unreadable_row_is_left_out_with_a_warning(
    store: Store, begin: Begin, path: Path, broken: str | bytes, caplog: pytest.LogCaptureFixture
) -> None:
    lease = await begin("s")
    await store.append(lease, [user_message("a"), user_message("b"), user_message("c")])
    change(path, "UPDATE messages SET body = ? WHERE position = 2", broken)
    assert texts(await store.open_for_writing(lease)) == ["a", "c"]
    assert "message 2 of session s is unreadable" in caplog.text
    assert texts(await store.messages("s")) == ["a", "c"]
    assert await store.append(lease, [user_message("d")]) == [4]


@pytest.mark.parametrize("lost", [2, 3, 4])
async def test_a_history_with_a_lost_row_is_still_valid(
    store: Store, begin: Begin, path: Path, lost: int
) -> None:
    lease = await begin("s")
    await store.append(
        lease,
        [
            user_message("go"),
            assistant_message("", tool_calls=CALLS[:2]),
            tool_message(CALLS[0], "one"),
            tool_message(CALLS[1], "two"),
            assistant_message("done"),
        ],
    )
    change(path, "UPDATE messages SET body = '{' WHERE position = ?", lost)
    messages = [one.message for one in await store.open_for_writing(lease)]
    check_valid(messages)
    assert messages[-1].text == "done"


def check_valid(messages: Sequence[Message]) -> None:
    """Every call has one result, before anything else; every result has its call."""
    pending: set[str] = set()
    for message in messages:
        if message.role == "tool":
            pending.remove(message.tool_call_id)
        else:
            assert not pending
            pending = {call.id for call in message.tool_calls}
    assert not pending


async def test_rows_added_by_hand_do_not_stop_the_session(
    store: Store, begin: Begin, path: Path
) -> None:
    lease = await begin("s")
    await store.append(lease, [user_message("a")])
    change(
        path,
        "INSERT INTO messages (session, position, time, role, body)"
        """ VALUES (1, 2, 0, 'user', '{"role":"user"}')""",
    )
    await store.open_for_writing(lease)
    assert await store.append(lease, [user_message("c")]) == [3]


# ---- copies, names, deletion -------------------------------------------------------------


@pytest.mark.parametrize("upto", [0, 1, 3])
async def test_a_fork_may_end_before_the_session_does(
    store: Store, begin: Begin, upto: int
) -> None:
    lease = await begin("s")
    await store.append(lease, [user_message("a"), assistant_message("b"), user_message("c")])
    await store.fork("s", info=SessionInfo(id="f", kind="undo"), upto=upto)
    info = await store.get("f")
    assert info is not None
    assert (info.parent, info.kind, info.message_count) == ("s", "undo", upto)
    assert texts(await store.messages("f")) == ["a", "b", "c"][:upto]
    fork = await store.acquire("f", holder="cli")
    assert await store.append(fork, [user_message("d")]) == [upto + 1]


async def test_a_fork_begins_with_the_same_messages_and_prompt(store: Store, begin: Begin) -> None:
    lease = await begin("s")
    await store.append(lease, [user_message("a"), assistant_message("b")])
    await store.fork("s", info=SessionInfo(id="f", title="copy"))
    fork = await store.acquire("f", holder="cli")
    assert await store.append(fork, [user_message("c")]) == [3]
    info = await store.get("f")
    assert info is not None
    assert (info.parent, info.kind, info.message_count) == ("s", "fork", 3)
    assert await store.setup("f") == await store.setup("s")
    assert texts(await store.messages("f")) == ["a", "b", "c"]
    assert texts(await store.messages("s")) == ["a", "b"]


async def test_a_deleted_session_is_gone_from_everywhere(
    store: Store, begin: Begin, path: Path
) -> None:
    lease = await begin("s")
    await store.append(lease, [user_message("secret plan")], usage={"m": Usage(input=1)})
    store.save_draft(lease, "draft", "")
    with pytest.raises(SessionBusy):
        await store.delete("s")
    await store.release(lease)
    await store.create_session(
        SessionInfo(id="child", parent="s", kind="subagent"), system="other", tools=b"[]"
    )
    await store.delete("s")
    assert await store.list() == []
    assert (await store.search("secret")).hits == ()
    await store.close()
    connection = sqlite3.connect(path)
    for table in ("sessions", "messages", "texts", "usage", "drafts"):
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
    index = "SELECT rowid FROM message_index WHERE message_index MATCH 'secret'"
    assert connection.execute(index).fetchall() == []
    connection.close()


async def test_a_session_can_be_named(store: Store, begin: Begin) -> None:
    await begin("s")
    await rename(store, "s", " taxes\n")
    assert [info.id for info in await store.find("taxes")] == ["s"]


async def test_what_was_asked_for_before_closing_is_done_and_nothing_after(
    store: Store, begin: Begin, path: Path, clock: VirtualClock
) -> None:
    lease = await begin("s")
    store.save_draft(lease, "last words", "")
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.append(lease, [user_message("after")])
    store.save_draft(lease, "after", "")
    again = Store(path, clock=clock, process="p")
    await clock.advance(31)
    history = await again.open_for_writing(await again.acquire("s", holder="cli"))
    assert texts(history) == ["last words"]
    await again.close()
