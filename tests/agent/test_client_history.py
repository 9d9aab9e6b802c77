"""Sessions that begin with what a client says went before, and with its own system prompt."""

from __future__ import annotations

from typing import Any

from hermes_plugins import Message, SessionWish, ToolCall, assistant_message, user_message
from hermes_plugins.testing import ScriptedServer, replies

BEFORE = (user_message("my name is Ada"), assistant_message("Hello Ada."))


async def ask(session: Any, text: str) -> str:
    async with session.run(text) as run:
        async for _ in run:
            pass
    return str(run.end.text)


async def test_a_session_begins_with_it_and_keeps_it(hermes) -> None:
    with ScriptedServer(then=replies.say("You are Ada.")) as server:
        async with hermes(server=server) as host:
            session = await host.runtime.open_session(SessionWish(history=BEFORE))
            assert session.history == BEFORE
            await ask(session, "who am I?")
            await session.close()
            (kept,) = await host.runtime.store.list()
            assert (kept.title, kept.message_count) == ("my name is Ada", 4)
            assert (await host.runtime.store.search("Ada")).hits
            again = await host.runtime.open_session(SessionWish(resume=kept.id))
            assert [one.text for one in again.history][:3] == [
                "my name is Ada",
                "Hello Ada.",
                "who am I?",
            ]
            await ask(again, "sure?")
            await again.close()
    first, second = (request.body for request in server.requests)
    assert second.startswith(first.removesuffix(b"]}"))


async def test_one_in_which_nothing_is_said_leaves_nothing_behind(hermes) -> None:
    async with hermes(settings={"model.provider": "offline"}) as host:
        session = await host.runtime.open_session(SessionWish(history=BEFORE))
        await session.close()
        assert await host.runtime.store.list() == []


async def test_calls_without_a_result_and_results_without_a_call_are_mended(hermes) -> None:
    call = ToolCall(id="c1", name="look", arguments="{}")
    history = (
        user_message("look"),
        Message(role="tool", tool_call_id="nobody"),
        assistant_message("", tool_calls=(call,)),
        user_message("and?"),
        assistant_message("", tool_calls=(call,)),
    )
    with ScriptedServer(then=replies.say("hm")) as server:
        async with hermes(server=server) as host:
            session = await host.runtime.open_session(SessionWish(history=history))
            await ask(session, "now?")
            await session.close()
    roles = [one["role"] for one in server.requests[0].messages]
    assert roles == ["system", "user", "assistant", "tool", "user", "assistant", "tool", "user"]


async def test_what_the_clients_system_prompt_says_stands_behind_ours_and_stays(hermes) -> None:
    with ScriptedServer(then=replies.say("Arr.")) as server:
        async with hermes(server=server) as host:
            wish = SessionWish(instructions="Talk like a pirate.\n")
            session = await host.runtime.open_session(wish)
            assert "Talk like a pirate." in session.system
            await ask(session, "hello")
            ident = session.info.id
            await session.close()
            other = SessionWish(resume=ident, instructions="Talk like a judge.")
            again = await host.runtime.open_session(other)
            await ask(again, "and?")
            await again.close()
    systems = [str(request.messages[0]["content"]) for request in server.requests]
    assert systems[0] == systems[1]
    assert systems[0].index("You are Hermes") < systems[0].index("Talk like a pirate.")
