"""`hermes digest`, as it is called: the fixture runs the real command, on a home of the test's own."""

from __future__ import annotations

import json

import pytest

from hermes_plugins.testing import Command


@pytest.fixture(autouse=True)
def switched_on(command: Command) -> None:
    """A plugin of a stranger is off until its owner switches it on."""
    assert command.run("plugins", "enable", "digest").status == 0


def test_where_nothing_was_said_it_says_so(command: Command) -> None:
    ended = command.run("digest")
    assert (ended.status, ended.out) == (0, "Nothing in the last 7 days.\n")


def test_a_session_is_a_line(command: Command) -> None:
    assert command.run("-q", "help").status == 0
    ended = command.run("digest", "--json")
    (row,) = json.loads(ended.stdout)
    assert (row["title"], row["folder"]) == ("help", str(command.folder))
    assert command.run("digest").out.endswith(f"  help  {command.folder}\n")


def test_what_cannot_be_is_told_in_two_lines(command: Command) -> None:
    assert command.run("-q", "help").status == 0
    ended = command.run("digest", "--folder", "the moon")
    assert ended.status == 2
    assert ended.err == "hermes: no session in a folder with 'the moon'.\n        hermes digest\n"
