"""Turns in which something goes wrong: with the model's calls, inside a tool, or with the store."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from hermes_plugins import MessageDone, Pure, hookimpl, tool
from hermes_plugins.testing import ScriptedServer, replies
from hermes_plugins.testing._host import Asked, HostFactory
from hermes_plugins.testing.replies import Reply


class Notes:
    """A tool that keeps what it was called with, and one that cancels itself."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    @hookimpl
    def hermes_register_tools(self) -> list[object]:
        @tool(toolset="notes", effects=[Pure()])
        async def keep(text: str) -> str:
            """Keep a text."""
            self.kept.append(text)
            return f"kept {text}"

        @tool(toolset="notes", effects=[Pure()])
        async def give_up() -> str:
            """Cancel itself, as a library's cancel scope may."""
            raise asyncio.CancelledError

        return [keep, give_up]


@pytest.fixture
def notes() -> Notes:
    return Notes()


def options(notes: Notes, server: ScriptedServer) -> dict[str, object]:
    return {
        "plugins": {("hermes.tools", "notes"): notes},
        "server": server,
        "toolsets": ("notes",),
    }


def results(asked: Asked) -> list[tuple[str, str]]:
    done = [event.message for event in asked.events if isinstance(event, MessageDone)]
    return [(message.status, message.text) for message in done if message.role == "tool"]


A, B = ("keep", {"text": "a"}), ("keep", {"text": "b"})


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        (replies.repeat_deltas("keep", {"text": "a"}), ["a"]),
        (replies.same_index([A, B]), ["a", "b"]),
        (replies.interleaved([A, B], size=3), ["a", "b"]),
    ],
    ids=["repeated deltas", "two calls with one index", "interleaved fragments"],
)
async def test_calls_run_once_each_however_they_are_streamed(
    hermes: HostFactory, notes: Notes, reply: Reply, kept: list[str]
) -> None:
    with ScriptedServer([reply, replies.say("ok")]) as server:
        async with hermes(**options(notes, server)) as host:
            asked = await host.ask("go")
    assert asked.text == "ok"
    assert sorted(notes.kept) == kept
    assert results(asked) == [("ok", f"kept {text}") for text in kept]


@pytest.mark.parametrize(
    "reply",
    [
        replies.truncated_arguments("keep", {"text": "a long text"}, keep=12),
        replies.call("keep", '{"text": "a'),
        replies.call("keep", "not json"),
    ],
)
async def test_arguments_that_cannot_be_read_run_nothing_and_go_back_to_the_model(
    hermes: HostFactory, notes: Notes, reply: Reply
) -> None:
    with ScriptedServer([reply, replies.say("ok")]) as server:
        async with hermes(**options(notes, server)) as host:
            asked = await host.ask("go")
    assert notes.kept == []
    assert [status for status, _ in results(asked)] == ["failed"]
    assert asked.text == "ok"


async def test_an_error_at_the_start_of_a_stream_is_retried_like_any_other(
    hermes: HostFactory, notes: Notes
) -> None:
    script = [replies.error_in_stream("overloaded", code=503), replies.say("here")]
    with ScriptedServer(script) as server:
        async with hermes(**options(notes, server)) as host:
            asked = await host.ask("go")
    assert asked.text == "here"


async def test_a_tool_that_cancels_itself_fails_alone(hermes: HostFactory, notes: Notes) -> None:
    script = [replies.calls([("give_up", {}), A]), replies.say("ok")]
    with ScriptedServer(script) as server:
        async with hermes(**options(notes, server)) as host:
            asked = await host.ask("go")
    assert results(asked) == [
        ("failed", "Error (permanent): it was cancelled from inside."),
        ("ok", "kept a"),
    ]
    assert asked.text == "ok"


def in_store(home: Path, statement: str) -> None:
    connection = sqlite3.connect(home / "state.db")
    with connection:
        connection.execute(statement)
    connection.close()


FULL = (
    "CREATE TRIGGER full BEFORE INSERT ON messages WHEN new.role = 'tool'"
    " BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
)


async def test_a_result_that_cannot_be_stored_ends_the_turn_and_the_next_one_is_valid(
    hermes: HostFactory, notes: Notes, hermes_home: Path
) -> None:
    script = [replies.calls([A, B]), replies.say("here again")]
    with ScriptedServer(script) as server:
        async with hermes(**options(notes, server)) as host:
            session = await host.session()
            in_store(hermes_home, FULL)
            failed = await host.ask("go")
            in_store(hermes_home, "DROP TRIGGER full")
            again = await host.ask("go on")
            stored = await host.runtime.store.messages(session.info.id)
        roles = [message["role"] for message in server.requests[-1].messages]
    assert failed.end.outcome == "failed"
    assert failed.end.reason
    assert again.text == "here again"
    assert roles == ["system", "user", "assistant", "tool", "tool", "user"]
    assert [one.message.status for one in stored] == [
        *("ok", "ok", "interrupted", "interrupted", "ok", "ok"),
    ]


async def test_a_session_that_another_process_took_over_says_who_has_it(
    hermes: HostFactory, notes: Notes, hermes_home: Path
) -> None:
    with ScriptedServer(then=replies.say("ok")) as server:
        async with hermes(**options(notes, server)) as host:
            await host.ask("one")
            in_store(hermes_home, "UPDATE sessions SET fence = fence + 1, holder = 'somebody'")
            asked = await host.ask("two")
        assert len(server.requests) == 1, "asked without the right to keep the answer"
    assert asked.end.outcome == "failed"
    assert "somebody" in asked.end.reason
    assert "--fork" in asked.end.hint
