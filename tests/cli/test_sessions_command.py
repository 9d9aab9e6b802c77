"""``hermes sessions`` on homes without sessions, and what its list shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hermes_core.cli.app import run
from hermes_plugins.testing import ScriptedServer, replies
from hermes_plugins.testing._command import Command


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (("list",), 0, "No session yet. `hermes` starts one.\n"),
        (("list", "--json"), 0, "[]\n"),
        (("search", "docker"), 0, "Nothing found.\n"),
        (("repair",), 0, "No session yet. `hermes` starts one.\n"),
        (("prune", "--older-than", "1d"), 0, "Nothing to prune.\n"),
        (("delete", "x"), 2, ""),
        (("rename", "x", "y"), 2, ""),
        (("show", "x"), 2, ""),
        (("export", "x"), 2, ""),
    ],
)
def test_asking_a_home_without_sessions_makes_no_store(
    capsys, hermes_home: Path, arguments: tuple[str, ...], status: int, text: str
) -> None:
    assert run(["sessions", *arguments]) == status
    shown = capsys.readouterr()
    assert shown.out == text
    assert ("there is no session 'x'." in shown.err) == bool(status)
    assert not hermes_home.exists()


def test_the_list_labels_the_number_of_messages(
    command: Command, model_server: ScriptedServer
) -> None:
    model_server.script(*[replies.say("answer")] * 20)
    command.talks_to(model_server)
    command.run("-q", "one question")
    command.run("-c", "-q", "another question")
    command.run("-q", "a question alone")
    lines = command.run("sessions", "list").out.splitlines()
    assert [re.split(r" {2,}", line, maxsplit=3)[2] for line in lines] == [
        "2 messages",
        "4 messages",
    ]
    assert len({line.index("messages") for line in lines}) == 1


def test_repair_makes_lost_words_found_again(
    command: Command, model_server: ScriptedServer
) -> None:
    import sqlite3

    model_server.script(*[replies.say("answer")] * 5)
    command.talks_to(model_server)
    command.run("-q", "where is the wombat")
    with sqlite3.connect(command.home / "state.db") as database:
        database.execute("INSERT INTO message_index (message_index) VALUES ('delete-all')")
    database.close()
    assert command.run("sessions", "search", "wombat").out == "Nothing found.\n"
    repaired = command.run("sessions", "repair")
    assert repaired.status == 0
    assert repaired.out == "Wrong: 2 messages that search does not find\nMended.\n"
    assert "wombat" in command.run("sessions", "search", "wombat").out
