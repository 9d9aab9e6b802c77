"""Which session ``hermes`` goes on with: exactly the one that was named, or none."""

from __future__ import annotations

import threading

import msgspec
import pytest

from hermes_plugins import MessageDone, TurnStarted
from hermes_plugins.testing import ScriptedServer, replies
from hermes_plugins.testing._command import Command, Ended, finish


def listed(command: Command) -> list[dict[str, object]]:
    found = msgspec.json.decode(command.run("sessions", "list", "--json").stdout)
    assert isinstance(found, list)
    return found


def texts(command: Command, session: str) -> list[str]:
    lines = command.run("sessions", "export", session).stdout.splitlines()[1:]
    messages = [msgspec.json.decode(line)["message"] for line in lines]
    return [one["parts"][0]["text"] for one in messages]


def begin(command: Command, text: str) -> str:
    """Ask once in a new session; returns its id."""
    started = command.run("-q", text, "--json").events[0]
    assert isinstance(started, TurnStarted)
    return started.session


def session_of(ended: Ended) -> str:
    assert ended.status == 0, ended.err
    return ended.events[-1].session


@pytest.fixture
def two(command: Command, model_server: ScriptedServer) -> tuple[str, str]:
    """Two sessions of one question each; the second is the newer one."""
    model_server.script(*[replies.say("answer")] * 20)
    command.talks_to(model_server)
    return begin(command, "the first question"), begin(command, "the second question")


@pytest.mark.parametrize("name", ["id", "prefix", "title"])
def test_resume_appends_to_exactly_the_named_session(
    command: Command, two: tuple[str, str], name: str, model_server: ScriptedServer
) -> None:
    first, second = two
    word = {"id": first, "prefix": first[:-1], "title": "the first question"}[name]
    ended = command.run("--resume", word, "-q", "and then?", "--json")
    assert session_of(ended) == first
    assert texts(command, first) == ["the first question", "answer", "and then?", "answer"]
    assert texts(command, second) == ["the second question", "answer"]
    sent = [message["content"] for message in model_server.requests[-1].messages[1:]]
    assert sent == ["the first question", "answer", "and then?"]
    assert len(listed(command)) == 2


def test_continue_takes_the_session_used_last(command: Command, two: tuple[str, str]) -> None:
    first, second = two
    assert session_of(command.run("-c", "-q", "more", "--json")) == second
    assert session_of(command.run("-r", first, "-q", "more", "--json")) == first
    assert session_of(command.run("-c", "-q", "more", "--json")) == first


def test_continue_works_with_a_question_from_stdin(command: Command, two: tuple[str, str]) -> None:
    ended = command.run("--continue", "--json", input=b"more")
    assert session_of(ended) == two[1]


def test_continue_without_a_session_says_how_to_start_one(command: Command) -> None:
    ended = command.run("-c", "-q", "hi")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == (
        "hermes: there is no session to continue.\n        `hermes chat` starts one.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--resume", "nope"), "there is no session 'nope'"),
        (("--resume", ""), "--resume needs the id or title of a session"),
        (("--resume", " "), "--resume needs the id or title of a session"),
        (("--resume", "2"), "'2' may be 2 sessions"),
        (("--resume", "2", "--continue"), "--resume and --continue name two sessions"),
        (("--fork",), "--fork needs a session to copy"),
        (("--cli", "--tui"), "--cli and --tui name two faces"),
    ],
)
def test_a_session_that_is_not_clear_is_refused_and_none_is_begun(
    command: Command, two: tuple[str, str], arguments: tuple[str, ...], message: str
) -> None:
    ended = command.run(*arguments, "-q", "hi")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith(f"hermes: {message}")
    assert ended.err.count("\n") == 2
    assert len(listed(command)) == 2


def test_a_part_of_a_title_is_not_enough_but_shows_the_way(
    command: Command, two: tuple[str, str]
) -> None:
    ended = command.run("--resume", "First", "-q", "hi")
    assert ended.status == 2
    assert two[0] in ended.err


def test_a_title_that_two_sessions_have_asks_for_an_id(
    command: Command, two: tuple[str, str]
) -> None:
    third = begin(command, "the first question")
    ended = command.run("--resume", "the first question", "-q", "hi")
    assert ended.status == 2
    assert two[0] in ended.err
    assert third in ended.err


@pytest.mark.parametrize("name", ["--resume", "--continue"])
def test_fork_goes_on_in_a_copy(command: Command, two: tuple[str, str], name: str) -> None:
    arguments = (name, two[1]) if name == "--resume" else (name,)
    copy = session_of(command.run(*arguments, "--fork", "-q", "and then?", "--json"))
    assert copy not in two
    assert texts(command, two[1]) == ["the second question", "answer"]
    assert texts(command, copy) == ["the second question", "answer", "and then?", "answer"]
    assert {one["title"] for one in listed(command)} == {
        "the first question",
        "the second question",
        "the second question (copy)",
    }


def test_a_session_in_use_says_who_has_it_and_can_be_forked(
    command: Command, two: tuple[str, str], model_server: ScriptedServer
) -> None:
    release = threading.Event()
    answered = len(model_server.requests)
    with ScriptedServer([replies.hold(replies.say("late"), release)]) as slow:
        command.talks_to(slow)
        holder = command.start("--resume", two[0], "-q", "first")
        slow.wait_for_requests(1)
        command.talks_to(model_server)
        busy = command.run("--resume", two[0], "-q", "second")
        forked = command.run("--resume", two[0], "--fork", "-q", "second", "--json")
        release.set()
        ended = finish(holder)
    assert (busy.status, busy.out) == (1, "")
    what, hint = busy.err.splitlines()
    assert what.startswith(f"hermes: session {two[0]} is in use by ")
    assert f"pid {holder.pid}" in what
    assert "--fork" in hint
    assert session_of(forked) not in two
    assert (ended.status, ended.out) == (0, "late\n")
    assert len(model_server.requests) == answered + 1
    assert texts(command, two[0])[2:] == ["first", "late"]


def test_a_session_whose_holder_was_killed_is_free(
    command: Command, two: tuple[str, str], model_server: ScriptedServer
) -> None:
    with ScriptedServer([replies.hang()]) as slow:
        command.talks_to(slow)
        holder = command.start("--resume", two[0], "-q", "first")
        slow.wait_for_requests(1)
        holder.kill()
        finish(holder)
    command.talks_to(model_server)
    assert session_of(command.run("--resume", two[0], "-q", "second", "--json")) == two[0]
    assert texts(command, two[0])[2:] == ["first", "second", "answer"]


def test_a_resumed_session_keeps_its_model_and_its_prompt(
    command: Command, two: tuple[str, str], model_server: ScriptedServer
) -> None:
    environ = {"HERMES_MODEL__NAME": "another"}
    session_of(command.run("-r", two[0], "-q", "more", "--json", environ=environ))
    before, after = model_server.requests[0].json, model_server.requests[-1].json
    assert after["model"] == "scripted"
    assert after["tools"] == before["tools"]
    assert model_server.requests[0].messages[0] == model_server.requests[-1].messages[0]


def test_a_session_is_called_after_the_first_question(command: Command) -> None:
    with ScriptedServer(then=replies.say("ok")) as server:
        command.talks_to(server)
        long = "explain the difference between a process and a thread, with examples\nplease"
        session = begin(command, long)
        command.run("-r", session, "-q", "and fibres?")
    (only,) = listed(command)
    assert only["title"] == "explain the difference between a process and a thread, with…"
    assert "(no title)" not in command.run("sessions", "list").out


def test_messages_are_told_with_their_place_in_the_session(
    command: Command, two: tuple[str, str]
) -> None:
    ended = command.run("-r", two[0], "-q", "more", "--json")
    assert [one.position for one in ended.events if isinstance(one, MessageDone)] == [3, 4]
