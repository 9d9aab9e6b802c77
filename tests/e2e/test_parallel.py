"""Several processes on one home."""

from __future__ import annotations

import msgspec

from hermes_plugins.testing import ScriptedServer, replies
from hermes_plugins.testing._command import Command, finish
from hermes_plugins.testing._server import ScriptedRequest
from hermes_plugins.testing.replies import Reply

PROCESSES = 10


def echo(request: ScriptedRequest) -> Reply:
    """A tool call first, then the question back."""
    question = next(str(one["content"]) for one in request.messages if one["role"] == "user")
    if request.messages[-1]["role"] == "user":
        return replies.call("read_file", {"path": "note.txt"})
    return replies.say(f"You asked: {question}", split=5)


def test_ten_questions_at_once_get_ten_answers_in_ten_sessions(command: Command) -> None:
    (command.folder / "note.txt").write_text("a note")
    with ScriptedServer(echo) as server:
        command.talks_to(server)
        started = [command.start("-q", f"question {number}") for number in range(PROCESSES)]
        ended = [finish(process) for process in started]
    assert [one.err for one in ended] == [""] * PROCESSES
    assert [one.status for one in ended] == [0] * PROCESSES
    assert [one.out for one in ended] == [f"You asked: question {n}\n" for n in range(PROCESSES)]
    listed = msgspec.json.decode(command.run("sessions", "list", "--json").stdout)
    assert sorted(one["title"] for one in listed) == [f"question {n}" for n in range(PROCESSES)]
    assert {one["message_count"] for one in listed} == {4}
