"""The gateway as people on a platform see it: who is answered, what, in which order, and how often."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, TypeAlias

import pytest

from hermes_core.faces import RuntimeFace
from hermes_core.gateway.gateway import Gateway, read_state
from hermes_core.store.mailbox import Draft
from hermes_plugins import (
    DeliveryError,
    InboundMessage,
    OutboundMessage,
    Runs,
    SessionWish,
    Tool,
    UsageError,
    assistant_message,
    hookimpl,
    tool,
    user_message,
)
from hermes_plugins.testing import FakePlatform, ScriptedServer, replies

Start: TypeAlias = Callable[..., AbstractAsyncContextManager[Any]]


def echo(request: Any) -> replies.Reply:
    asked = [one["content"] for one in request.messages if one["role"] == "user"]
    return replies.say(f"re: {asked[-1]}")


def told(request: Any) -> list[str]:
    return [str(one["content"]) for one in request.messages if one["role"] != "system"]


async def test_an_allowed_sender_is_answered_and_the_conversation_goes_on(start: Start) -> None:
    with ScriptedServer(echo) as server:
        async with start(server) as running:
            running.chat.say("one")
            await running.chat.heard(1)
            running.chat.say("two")
            assert await running.chat.heard(2) == ["re: one", "re: two"]
        assert told(server.requests[-1]) == ["one", "re: one", "two"]
        async with start(server) as running:
            running.chat.say("three", ident="after-restart")
            assert await running.chat.heard(1) == ["re: three"]
        assert told(server.requests[-1])[-3:] == ["two", "re: two", "three"]


async def test_everybody_has_a_session_of_their_own_also_in_a_group(start: Start) -> None:
    with ScriptedServer(echo) as server:
        async with start(server) as running:
            running.chat.say("secret", sender="ada", chat="room", group=True)
            await running.chat.heard(1)
            running.chat.say("hello", sender="bob", chat="room", group=True)
            await running.chat.heard(2)
    assert told(server.requests[-1]) == ["hello"]


async def test_a_group_may_share_one_session_and_the_model_reads_who_speaks(start: Start) -> None:
    with ScriptedServer(echo) as server:
        async with start(server, settings={"platforms.fake.group_sessions": "chat"}) as running:
            running.chat.say("one", sender="ada", chat="room", group=True)
            await running.chat.heard(1)
            running.chat.say("two", sender="bob", chat="room", group=True)
            await running.chat.heard(2)
    assert told(server.requests[-1]) == ["ada: one", "re: ada: one", "bob: two"]


@pytest.mark.parametrize("allow", [(), ("bob",)])
async def test_who_is_not_named_gets_silence_and_nothing_is_kept(
    start: Start, allow: tuple[str, ...]
) -> None:
    with ScriptedServer(echo) as server:
        async with start(server, allow=allow) as running:
            running.chat.say("let me in")
            running.chat.say("/new")
            running.chat.say("/stop")
            while not running.chat._arrived.empty():
                await asyncio.sleep(0)
            assert await running.host.runtime.store.mailbox().counts() == {}
        assert running.chat.sent == []
        assert server.requests == []


async def test_a_message_that_comes_twice_is_answered_once(start: Start) -> None:
    with ScriptedServer(echo) as server:
        async with start(server) as running:
            running.chat.say("one", ident="same")
            running.chat.say("one", ident="same")
            running.chat.say("two")
            assert await running.chat.heard(2) == ["re: one", "re: two"]
        async with start(server) as running:
            running.chat.say("one", ident="same")
            running.chat.say("three", ident="other")
            assert await running.chat.heard(1) == ["re: three"]


async def test_what_comes_while_a_turn_runs_waits_and_is_answered(start: Start) -> None:
    release = threading.Event()
    with ScriptedServer(
        [replies.Reply(**_held("first", release))], then=replies.say("next")
    ) as server:
        async with start(server) as running:
            running.chat.say("one")
            await asyncio.to_thread(server.wait_for_requests, 1)
            running.chat.say("two")
            running.chat.say("three")
            while not running.chat._arrived.empty():
                await asyncio.sleep(0)
            release.set()
            assert await running.chat.heard(3) == ["first", "next", "next"]


async def test_conversations_do_not_wait_for_each_other(start: Start) -> None:
    release = threading.Event()
    held = replies.Reply(**_held("slow", release))
    with ScriptedServer(
        lambda request: held if told(request) == ["slow?"] else echo(request)
    ) as server:
        async with start(server) as running:
            running.chat.say("slow?", sender="ada")
            await asyncio.to_thread(server.wait_for_requests, 1)
            running.chat.say("quick?", sender="bob")
            assert await running.chat.heard(1) == ["re: quick?"]
            release.set()
            assert await running.chat.heard(2) == ["re: quick?", "slow"]


@pytest.mark.parametrize("word", ["/stop", "!stop", " /STOP "])
async def test_stop_ends_the_turn_that_runs(start: Start, word: str) -> None:
    with ScriptedServer(
        [replies.Reply(**{**_held("x", None), "end": "hang", "events": ()})]
    ) as server:
        async with start(server) as running:
            running.chat.say("work")
            await asyncio.to_thread(server.wait_for_requests, 1)
            running.chat.say(word)
            (text,) = await running.chat.heard(1)
            assert "/stop" in text
            running.chat.say(word)
            assert (await running.chat.heard(2))[1] == "Nothing is running."


async def test_new_begins_another_session(start: Start) -> None:
    with ScriptedServer(echo) as server:
        async with start(server) as running:
            running.chat.say("one")
            running.chat.say("/new")
            running.chat.say("two")
            assert len(await running.chat.heard(3)) == 3
            assert len(await running.host.runtime.store.list()) == 2
    assert told(server.requests[-1]) == ["two"]


async def test_where_nobody_can_be_asked_a_question_is_a_no_and_the_person_is_told(
    start: Start,
) -> None:
    ran = []

    @tool(toolset="bang", effects=[Runs("command")])
    def bang(command: str) -> str:
        """Run a command."""
        ran.append(command)
        return "done"

    class Bang:
        @hookimpl
        def hermes_register_tools(self) -> list[Tool]:
            return [bang]

    script = [replies.call("bang", {"command": "rm -rf build"}), replies.say("I could not.")]
    with ScriptedServer(script) as server:
        async with start(
            server,
            plugins={("hermes.tools", "bang"): Bang()},
            settings={"toolsets.by_face": {"fake": ["bang"]}},
        ) as running:
            running.chat.say("clean up")
            (text,) = await running.chat.heard(1)
    assert ran == []
    assert text.startswith("I could not.\n\n(bang was not run: nobody can be asked here")


async def test_a_model_that_fails_is_told_to_the_sender(start: Start) -> None:
    with ScriptedServer(then=replies.fail(401, "no such key")) as server:
        async with start(server) as running:
            running.chat.say("hello")
            (text,) = await running.chat.heard(1)
    assert "401" in text or "key" in text


async def test_a_session_that_another_program_holds_is_waited_for(start: Start) -> None:
    with ScriptedServer(echo) as server:
        async with start(server) as running:
            running.chat.say("one")
            await running.chat.heard(1)
        async with start(server) as running:
            store = running.host.runtime.store
            (info,) = await store.list()
            lease = await store.acquire(info.id, holder="cli")
            running.chat.say("two", ident="two")
            (text,) = await running.chat.heard(1)
            assert text.startswith("This conversation is open in another program (cli")
            await store.release(lease)
            assert (await running.chat.heard(2))[1] == "re: two"


async def test_a_platform_that_falls_is_started_again_and_hurts_no_other(start: Start) -> None:
    lives: list[int] = []

    class Falling(FakePlatform):
        async def run(self, inbox: Any) -> None:
            lives.append(1)
            raise RuntimeError("a bug")

    class Second:
        @hookimpl
        def hermes_register_platforms(self) -> list[Any]:
            from hermes_plugins import PlatformSpec

            return [PlatformSpec(id="falling", make=lambda host: Falling())]

    with ScriptedServer(echo) as server:
        async with start(
            server,
            plugins={("hermes.platforms", "falling"): Second()},
            settings={"platforms.falling.enabled": True},
        ) as running:
            while len(lives) < 2:
                await asyncio.sleep(0.01)
            running.chat.say("one")
            assert await running.chat.heard(1) == ["re: one"]
            state = read_state(running.host.runtime.paths.home)
            assert state is not None
            assert state.platforms["falling"].last_error == "RuntimeError: a bug"
            assert state.platforms["fake"].last_error == ""


async def test_a_long_answer_is_split_and_keeps_its_order(start: Start) -> None:
    text = "\n".join(f"line {number} {'x' * 90}" for number in range(200))
    with ScriptedServer([replies.say(text)]) as server:
        async with start(server) as running:
            running.chat.say("go")
            parts = await running.chat.heard(5)
    assert "\n".join(parts) == text
    assert all(len(part) <= FakePlatform.limits.text for part in parts)


async def test_few_sessions_are_open_at_a_time_and_none_is_lost(start: Start) -> None:
    with ScriptedServer(echo) as server:
        async with start(server, allow=["*"], settings={"gateway.max_sessions": 2}) as running:
            for number in range(6):
                running.chat.say(f"from {number}", sender=f"p{number}")
                await running.chat.heard(number + 1)
                assert len(running.gateway.sessions) <= 2
            running.chat.say("again", sender="p0")
            await running.chat.heard(7)
            assert len(running.gateway.workers) <= 1
    assert told(server.requests[-1]) == ["from 0", "re: from 0", "again"]


async def test_an_unused_session_is_closed_and_goes_on_when_it_is_needed(start: Start) -> None:
    with ScriptedServer(echo) as server:
        async with start(server) as running:
            running.chat.say("one")
            await running.chat.heard(1)
            while len(running.gateway.workers):
                await asyncio.sleep(0)
            await running.gateway.sessions.close_unused(0.0)
            assert len(running.gateway.sessions) == 0
            running.chat.say("two")
            await running.chat.heard(2)
    assert told(server.requests[-1]) == ["one", "re: one", "two"]


async def test_stopping_lets_a_running_turn_finish(start: Start) -> None:
    release = threading.Event()
    with ScriptedServer([replies.Reply(**_held("in time", release))]) as server:
        async with start(server) as running:
            running.chat.say("one")
            await asyncio.to_thread(server.wait_for_requests, 1)
            running.stop.set()
            running.chat.say("two", ident="late")
            release.set()
        assert [message.text for message in running.chat.sent] == ["in time"]
        server.script(replies.say("after all"))
        async with start(server) as running:
            assert await running.chat.heard(1) == ["after all"]


async def test_a_turn_that_does_not_finish_in_time_is_answered_after_the_next_start(
    start: Start,
) -> None:
    held = replies.Reply(**{**_held("x", None), "end": "hang", "events": ()})
    with ScriptedServer([held], then=replies.say("at last")) as server:
        async with start(server, settings={"gateway.drain": 0.05}) as running:
            running.chat.say("one")
            await asyncio.to_thread(server.wait_for_requests, 1)
        assert running.chat.sent == []
        async with start(server) as running:
            assert await running.chat.heard(1) == ["at last"]


# -- what a crash leaves behind ----------------------------------------------------------


async def leave_behind(start: Start, server: ScriptedServer, *messages: Any) -> None:
    """As a crash leaves it: a message whose turn began, and what the session got of it."""
    async with start(server, allow=[]) as running:
        runtime = running.host.runtime
        session = await runtime.open_session(SessionWish(face="fake", interactive=False))
        mailbox = runtime.store.mailbox()
        message = InboundMessage(id="m", platform="fake", chat="ada", sender="ada", text="do it")
        conversation = '["fake","ada","","ada"]'
        now = runtime.clock.now()
        await mailbox.accept(message, conversation=conversation, time=now)
        received = await mailbox.next(conversation)
        assert received is not None
        await runtime.store.records("gateway.sessions").put(conversation, session.info.id)
        await mailbox.begin(received.key, session=session.info.id, position=0)
        keeper = session._parts.keeper
        for one in messages:
            await keeper.append([one])
            session._parts.history.append(one)
        await session.close()


async def test_a_turn_that_had_not_begun_to_answer_is_run_again(start: Start) -> None:
    with ScriptedServer(echo) as server:
        await leave_behind(start, server, user_message("do it"))
        async with start(server) as running:
            assert await running.chat.heard(1) == ["re: do it"]


async def test_an_answer_that_was_stored_is_sent_and_the_model_not_asked_again(
    start: Start,
) -> None:
    with ScriptedServer(echo) as server:
        await leave_behind(start, server, user_message("do it"), assistant_message("It is done."))
        async with start(server) as running:
            assert await running.chat.heard(1) == ["It is done."]
        assert server.requests == []


async def test_a_turn_that_used_tools_is_not_repeated_and_the_person_is_told(start: Start) -> None:
    from hermes_plugins import ToolCall

    call = ToolCall(id="1", name="terminal", arguments="{}")
    with ScriptedServer(echo) as server:
        await leave_behind(
            start, server, user_message("do it"), assistant_message("", tool_calls=[call])
        )
        async with start(server) as running:
            (text,) = await running.chat.heard(1)
            assert text.startswith("I was cut off while I worked on 'do it'.")
        assert server.requests == []


@pytest.mark.parametrize(("keeps_keys", "texts"), [(False, "I cannot tell"), (True, "the answer")])
async def test_a_message_without_a_receipt_is_repeated_only_where_the_service_knows_it(
    start: Start, keeps_keys: bool, texts: str
) -> None:
    message = OutboundMessage(id="1.1", chat="ada", text="the answer")
    with ScriptedServer(echo) as server:
        async with start(server, allow=[]) as running:
            mailbox = running.host.runtime.store.mailbox()
            draft = Draft(platform="other", message=message, question="do it")
            await mailbox.post([draft], time=running.host.runtime.clock.now())
            posted = await mailbox.due("other")
            assert posted is not None
            await mailbox.sending(posted.key)
            file = running.host.runtime.paths.home / "state.db"
        connection = sqlite3.connect(file)
        connection.execute("UPDATE outbound SET platform = 'fake'")
        connection.commit()
        connection.close()
        async with start(server, keeps_keys=keeps_keys) as running:
            (text,) = await running.chat.heard(1)
            assert text.startswith(texts)


@pytest.mark.parametrize(("replays", "count"), [(False, 1), (True, 0)])
async def test_after_a_crash_people_learn_that_something_may_be_lost(
    start: Start, replays: bool, count: int
) -> None:
    with ScriptedServer(echo) as server:
        async with start(server) as running:
            running.chat.say("one")
            await running.chat.heard(1)
            file = running.host.runtime.paths.home / "gateway.json"
        file.write_text(file.read_text("utf-8").replace('"clean":true', '"clean":false'), "utf-8")
        async with start(server, replays=replays) as running:
            running.chat.say("two", ident="two")
            heard = await running.chat.heard(1 + count)
        assert heard[-1] == "re: two"
        assert [text.startswith("I was cut off and am back.") for text in heard[:-1]] == [
            True
        ] * count


# -- sending -----------------------------------------------------------------------------


def failing(chat: Any, *errors: Exception) -> Any:
    """The platform fails so often before it sends."""
    waiting = list(errors)

    class Failing(FakePlatform):
        async def run(self, inbox: Any) -> None:
            await chat.run(inbox)

        async def send(self, message: OutboundMessage) -> Any:
            if waiting:
                raise waiting.pop(0)
            return await chat.send(message)

    return lambda host: Failing()


async def test_what_was_not_sent_is_sent_later(start: Start) -> None:
    error = DeliveryError("not connected.")
    with ScriptedServer(echo) as server:
        async with start(server, make=lambda chat: failing(chat, error)) as running:
            running.chat.say("one")
            assert await running.chat.heard(1) == ["re: one"]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (DeliveryError("no such room.", fate="refused"), "My answer to 'one' could not be sent"),
        (DeliveryError("lost.", fate="unknown"), "I cannot tell whether my answer to 'one'"),
        (RuntimeError("a bug"), "I cannot tell whether my answer to 'one'"),
    ],
)
async def test_what_cannot_be_sent_or_may_have_been_is_told(
    start: Start, error: Exception, text: str
) -> None:
    with ScriptedServer(echo) as server:
        async with start(server, make=lambda chat: failing(chat, error)) as running:
            running.chat.say("one")
            (heard,) = await running.chat.heard(1)
    assert heard.startswith(text)


# -- starting ----------------------------------------------------------------------------


def a_gateway(host: Any) -> Gateway:
    return Gateway(host.runtime, pid=1, face_host=partial(RuntimeFace, host.runtime))


async def test_without_a_platform_it_says_which_command_enables_one(hermes: Any) -> None:
    async with hermes() as host:
        with pytest.raises(UsageError, match=r"no chat platform is enabled.*config set platforms"):
            await a_gateway(host).load()


async def test_a_platform_that_nobody_offers_is_named(hermes: Any) -> None:
    async with hermes(settings={"platforms.pigeon.enabled": True}) as host:
        with pytest.raises(UsageError, match="pigeon: no installed plugin offers this platform"):
            await a_gateway(host).load()


def _held(text: str, release: threading.Event | None) -> dict[str, Any]:
    reply = replies.say(text)
    fields = {name: getattr(reply, name) for name in reply.__struct_fields__}
    return {**fields, "release": release}
