"""kill -9: no message that was told as stored is lost, and every session goes on validly."""

from __future__ import annotations

import asyncio
import os
import random
import threading

import msgspec
import pytest

from hermes_core.clock import SystemClock
from hermes_core.store.sqlite import Store
from hermes_plugins import AnyEvent, Message, MessageDone, TurnEnded, decode_event
from hermes_plugins.testing import ScriptedServer, replies
from hermes_plugins.testing._command import Command, finish
from hermes_plugins.testing._server import ScriptedRequest
from hermes_plugins.testing.replies import Reply

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kill -9 of POSIX")

TOOL_TURNS = 6
AFTER = "And after the power cut?"


def story(request: ScriptedRequest) -> Reply:
    """Some turns with tools, two calls each, and an answer; told by what is there already."""
    messages = request.messages
    if messages[-1]["role"] == "user" and messages[-1]["content"] == AFTER:
        return replies.say("Still here.")
    turn = sum(message["role"] == "assistant" for message in messages)
    if turn >= TOOL_TURNS:
        return replies.say("All of it is done. " * 20, split=10)
    calls = [
        ("write_file", {"path": f"file{turn}.txt", "content": "x" * 3000}, f"write_{turn}"),
        ("read_file", {"path": f"file{turn}.txt"}, f"read_{turn}"),
    ]
    return replies.calls(calls, text=f"Step {turn}.")


def killed_after(command: Command, events: int, delay: float) -> list[AnyEvent]:
    """Ask, and kill the process after so many events and a moment more; returns what it told."""
    process = command.start("-q", "do all of it", "--json")
    assert process.stdout is not None
    lines = []
    for line in iter(process.stdout.readline, b""):
        lines.append(line)
        if len(lines) >= events:
            break
    threading.Event().wait(delay)  # any moment between two events, too
    process.kill()
    rest = finish(process).stdout
    lines += [line + b"\n" for line in rest.split(b"\n")[:-1]]  # the last one may be cut
    return [decode_event(line) for line in lines if line.endswith(b"\n")]


def stored(command: Command, session: str) -> list[Message]:
    async def read() -> list[Message]:
        store = Store(command.home / "state.db", clock=SystemClock(), process="test")
        try:
            return [one.message for one in await store.messages(session)]
        finally:
            await store.close()

    return asyncio.run(read())


def check(command: Command, server: ScriptedServer, told: list[AnyEvent]) -> None:
    """Nothing told is lost; the session resumes, with a request that a provider accepts."""
    session = told[0].session
    kept = stored(command, session)
    for event in told:
        if isinstance(event, MessageDone):
            assert kept[event.position - 1] == event.message, f"message {event.position} is lost"
    resumed = command.run("--resume", session, "-q", AFTER, "--json")
    assert resumed.status == 0, resumed.err
    end = resumed.events[-1]
    assert isinstance(end, TurnEnded)
    assert (end.session, end.text) == (session, "Still here.")
    check_request(server.requests[-1].messages)
    assert stored(command, session)[: len(kept)] == kept


def check_request(messages: list[dict[str, object]]) -> None:
    """Roles in order, each call answered once, by the results right behind it."""
    assert [message["role"] for message in messages[:2]] == ["system", "user"]
    assert messages[-1] == {"role": "user", "content": AFTER}
    waiting: list[str] = []
    for message in messages[1:]:
        if message["role"] == "tool":
            assert waiting, "a result without a call"
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert not waiting, f"calls without a result: {waiting}"
        calls = msgspec.convert(message.get("tool_calls") or [], list[dict[str, object]])
        waiting = [str(call["id"]) for call in calls]
        assert message["role"] in ("user", "assistant")
    assert not waiting


def events_of_a_whole_run(command: Command) -> int:
    return len(command.run("-q", "do all of it", "--json").events)


def kill_points(command: Command, count: int, seed: int) -> None:
    rolls = random.Random(seed)
    with ScriptedServer(story) as server:
        command.talks_to(server)
        events = events_of_a_whole_run(command)
        for _ in range(count):
            told = killed_after(command, rolls.randrange(1, events), rolls.uniform(0.0, 0.02))
            check(command, server, told)


def test_killed_at_some_points_nothing_told_is_lost_and_every_session_resumes(
    command: Command,
) -> None:
    kill_points(command, 15, seed=15)


@pytest.mark.slow
def test_killed_at_200_points_nothing_told_is_lost_and_every_session_resumes(
    command: Command,
) -> None:
    kill_points(command, 200, seed=200)


def test_killed_while_it_streams_the_answer_so_far_is_kept(command: Command) -> None:
    words = " ".join(f"word{number}" for number in range(400))
    release = threading.Event()
    # Drafts are saved once a second: the pause is longer than that, and more text follows it.
    slow = replies.hold(replies.hang(words, split=100), release, after=20)
    with ScriptedServer([slow, replies.say("Still here.")]) as server:
        command.talks_to(server)
        process = command.start("-q", "tell", "--json")
        assert process.stdout is not None
        told = b""
        while told.count(b'"text_delta"') < 15:
            told += process.stdout.readline()
        threading.Event().wait(1.2)
        release.set()
        while told.count(b'"text_delta"') < 25:
            told += process.stdout.readline()
        threading.Event().wait(0.3)
        process.kill()
        finish(process)
        session = decode_event(told.splitlines()[0]).session
        resumed = command.run("--resume", session, "-q", AFTER)
        sent = server.requests[-1].messages
    assert resumed.out == "Still here.\n"
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user"]
    partial = str(sent[2]["content"])
    assert len(partial) >= 1500
    assert words.startswith(partial)
    assert stored(command, session)[1].status == "interrupted"
