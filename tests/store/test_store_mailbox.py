"""The mailbox: what came in until it is answered, what goes out until it is taken."""

import sqlite3
from pathlib import Path

import pytest

from hermes_core.store.mailbox import Draft, Mailbox
from hermes_core.store.sqlite import Store
from hermes_plugins import InboundMessage, OutboundMessage

HERE = "conversation"


@pytest.fixture
def mailbox(store: Store) -> Mailbox:
    return store.mailbox()


def came(ident: str, *, text: str = "hi", platform: str = "irc") -> InboundMessage:
    return InboundMessage(id=ident, platform=platform, chat="room", sender="ada", text=text)


def goes(ident: str, *, chat: str = "room", question: str = "hi") -> Draft:
    message = OutboundMessage(id=ident, chat=chat, text=f"text of {ident}")
    return Draft(platform="irc", message=message, question=question)


async def next_id(mailbox: Mailbox) -> str:
    posted = await mailbox.due("irc")
    return posted.draft.message.id if posted else ""


async def test_a_message_is_taken_once_for_each_platform(mailbox: Mailbox) -> None:
    assert await mailbox.accept(came("1"), conversation=HERE, time=1.0)
    assert not await mailbox.accept(came("1"), conversation=HERE, time=2.0)
    assert await mailbox.accept(came("1", platform="mail"), conversation="other", time=3.0)
    assert await mailbox.counts() == {"irc": (1, 0), "mail": (1, 0)}


async def test_messages_are_answered_in_the_order_in_which_they_came(mailbox: Mailbox) -> None:
    for ident in ("1", "2"):
        await mailbox.accept(came(ident), conversation=HERE, time=1.0)
    first = await mailbox.next(HERE)
    assert first is not None
    assert (first.message.id, first.running) == ("1", False)
    await mailbox.begin(first.key, session="s", position=4)
    again = await mailbox.next(HERE)
    assert again is not None
    assert (again.message.id, again.running, again.session, again.position) == ("1", True, "s", 4)
    await mailbox.answer(first.key, [goes("a")], time=1.0)
    second = await mailbox.next(HERE)
    assert second is not None
    assert second.message.id == "2"
    assert await mailbox.open_conversations() == [HERE]


async def test_an_answer_to_what_is_answered_changes_nothing(mailbox: Mailbox) -> None:
    await mailbox.accept(came("1"), conversation=HERE, time=1.0)
    received = await mailbox.next(HERE)
    assert received is not None
    await mailbox.answer(received.key, [goes("a")], time=1.0)
    await mailbox.answer(received.key, [goes("b")], time=1.0)
    assert await mailbox.counts() == {"irc": (0, 1)}


async def test_a_chat_keeps_its_order_and_holds_up_no_other(mailbox: Mailbox) -> None:
    await mailbox.post([goes("a1"), goes("a2"), goes("b1", chat="den")], time=1.0)
    first = await mailbox.due("irc")
    assert first is not None
    assert first.draft.message.id == "a1"
    await mailbox.sending(first.key)
    await mailbox.postpone(first.key, due=100.0, error="busy")
    other = await mailbox.due("irc")
    assert other is not None
    assert other.draft.message.id == "b1"
    await mailbox.sent(other.key, "receipt")
    late = await mailbox.due("irc")
    assert late is not None
    assert (late.draft.message.id, late.due, late.attempts) == ("a1", 100.0, 1)
    await mailbox.sent(late.key, "receipt")
    assert await next_id(mailbox) == "a2"


async def test_what_was_being_sent_is_known_to_be_unsure(mailbox: Mailbox) -> None:
    await mailbox.post([goes("a")], time=1.0)
    posted = await mailbox.due("irc")
    assert posted is not None
    assert not posted.unsure
    await mailbox.sending(posted.key)
    posted = await mailbox.due("irc")
    assert posted is not None
    assert posted.unsure
    await mailbox.give_up(posted.key, "no receipt", [goes("note", question="")], time=2.0)
    assert await next_id(mailbox) == "note"


async def test_old_rows_are_forgotten_once_they_are_done_with(mailbox: Mailbox) -> None:
    for ident in ("old", "open"):
        await mailbox.accept(came(ident), conversation=ident, time=1.0)
    received = await mailbox.next("old")
    assert received is not None
    await mailbox.answer(received.key, [], time=1.0)
    await mailbox.prune(before=10.0)
    assert await mailbox.accept(came("old"), conversation="old", time=20.0)
    assert not await mailbox.accept(came("open"), conversation="open", time=20.0)


async def test_the_newest_message_of_each_conversation_is_found(mailbox: Mailbox) -> None:
    await mailbox.accept(came("1", text="before"), conversation="a", time=1.0)
    await mailbox.accept(came("2", text="first"), conversation="b", time=11.0)
    await mailbox.accept(came("3", text="last"), conversation="b", time=12.0)
    assert [one.text for one in await mailbox.recent("irc", since=10.0)] == ["last"]


async def test_a_database_of_the_schema_before_gets_an_empty_mailbox(
    path: Path, store: Store
) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    schema = Path(__file__).parent / "schemas" / "1.sql"
    connection.executescript(schema.read_text(encoding="utf-8"))
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    assert await store.mailbox().accept(came("1"), conversation=HERE, time=1.0)
