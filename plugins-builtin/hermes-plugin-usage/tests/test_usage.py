"""`hermes usage`, as it is called."""

from __future__ import annotations

import msgspec
import pytest

from hermes_plugins.testing import Command, ScriptedServer
from hermes_plugins.testing.replies import say


def test_a_home_without_sessions_says_so(command: Command) -> None:
    ended = command.run("usage")
    assert (ended.status, ended.out) == (0, "No session was used in the last 30 days.\n")


@pytest.mark.parametrize("by", ["model", "day", "session"])
def test_tokens_are_added_up(command: Command, by: str) -> None:
    with ScriptedServer([say("One."), say("Two.")]) as server:
        command.talks_to(server)
        for _ in range(2):
            assert command.run("-q", "hello").status == 0
    ended = command.run("usage", "--by", by, "--json")
    totals = msgspec.json.decode(ended.stdout)
    assert len(totals) == (2 if by == "session" else 1)
    assert sum(one["sessions"] for one in totals) == 2
    assert sum(one["input"] for one in totals) > 0
    assert all(one["cost"] is None and not one["cost_is_whole"] for one in totals)


def test_the_table_has_a_line_a_model_and_their_sum(command: Command) -> None:
    with ScriptedServer([say("One.")]) as server:
        command.talks_to(server)
        assert command.run("-q", "hello").status == 0
    assert command.run("--provider", "offline", "--model", "offline-1", "-q", "help").status == 0
    lines = command.run("usage").out.splitlines()
    names = [line.split()[0] for line in lines[1:]]
    assert sorted(names) == ["custom/scripted", "offline/offline-1", "together"]
    assert names[-1] == "together"
    assert lines[-1].endswith("?")


def test_an_unknown_grouping_is_refused_with_the_choices(command: Command) -> None:
    ended = command.run("usage", "--by", "moon")
    assert ended.status == 2
    assert "model" in ended.err
    assert "day" in ended.err
