"""Titles: one that a person chose tells a session from all others, and stays."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hermes_core.clock import SystemClock
from hermes_core.keeper import LeaseKeeper
from hermes_core.store.sqlite import Store
from hermes_plugins import SessionInfo
from hermes_plugins.testing import ScriptedServer, replies
from hermes_plugins.testing._command import Command


def test_a_session_is_renamed_and_found_by_its_title(say, fill) -> None:
    fill("a", "b")
    assert say("rename", "a", "my", " taxes\x1b[31m ").out == "a is now 'my taxes'.\n"
    assert say("show", "my taxes").out.startswith("a  my taxes  ")
    assert say("rename", "my taxes", "my taxes").status == 0
    assert say("rename", "my taxes", "other").out == "a is now 'other'.\n"


def test_a_title_that_would_mean_two_sessions_is_refused(say, fill) -> None:
    fill("20260101_a", "20260101_b")
    say("rename", "20260101_a", "taxes")
    refused = say("rename", "20260101_b", "taxes")
    assert refused.status == 2
    assert refused.err == (
        "hermes: session 20260101_a has the title 'taxes' already.\n"
        "        Take a title that only one session has.\n"
    )
    begins = say("rename", "20260101_b", "2026")
    assert begins.status == 2
    assert "session 20260101_a has an id that begins so" in begins.err
    assert say("show", "20260101_b").out.startswith("20260101_b  tell me of 20260101_b  ")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("",), "a title needs a letter"),
        (("\x07 ",), "a title needs a letter"),
        (("x" * 201,), "a title has at most 200 characters; this has 201"),
    ],
)
def test_what_is_no_title_is_refused(say, fill, words: tuple[str, ...], text: str) -> None:
    fill("a")
    refused = say("rename", "a", *words)
    assert refused.status == 2
    assert text in refused.err


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("my taxs", "Did you mean a (my taxes)?"),
        ("MY TAXES", "Its title may be longer; see a."),
        ("20260101_093000_abcdff", "Did you mean 20260101_093000_abcdef (tell me of 20260101_0930"),
        ("quite another thing", "`hermes sessions list` shows them."),
    ],
)
def test_a_name_that_is_nearly_one_is_answered_with_it(say, fill, name: str, hint: str) -> None:
    fill("a", title="my taxes")
    fill("20260101_093000_abcdef")
    for words in (("show", name), ("delete", name), ("export", name), ("rename", name, "x")):
        refused = say(*words)
        assert refused.status == 2
        assert refused.err.startswith(f"hermes: there is no session {name!r}.\n        {hint}")


def test_a_name_given_from_outside_is_not_replaced_by_the_first_question(
    hermes_home: Path, say
) -> None:
    async def talk() -> None:
        clock = SystemClock()
        store = Store(hermes_home / "state.db", clock=clock, process="test")
        await store.create_session(SessionInfo(id="a"), system="", tools=b"[]")
        keeper = LeaseKeeper(store, await store.acquire("a", holder="cli"), clock, title="")
        await asyncio.to_thread(say, "rename", "a", "mine")
        await keeper.append([], title="what was asked first")
        await keeper.give_back(forget=False)
        await store.close()

    asyncio.run(talk())
    assert say("show", "a").out.startswith("a  mine  ")


def test_a_session_that_is_open_elsewhere_is_renamed_and_goes_on(
    command: Command, model_server: ScriptedServer
) -> None:
    import threading

    release = threading.Event()
    model_server.script(replies.hold(replies.say("late"), release))
    command.talks_to(model_server)
    process = command.start("-q", "a question")
    model_server.wait_for_requests(1)
    listed = command.run("sessions", "list").out
    session = listed.split()[0]
    renamed = command.run("sessions", "rename", session, "mine")
    refused = command.run("sessions", "delete", session, "--yes")
    release.set()
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, b"late\n")
    assert renamed.out == f"{session} is now 'mine'.\n"
    assert refused.status == 1
    assert f"session {session} is in use by cli (pid {process.pid} on " in refused.err
    assert refused.err.endswith("        End that first; nothing was deleted.\n")
    assert "  2 messages  mine" in command.run("sessions", "list").out
