"""`hermes prompt`, as it is called."""

from __future__ import annotations

import re

import msgspec

from hermes_plugins.testing import Command, ScriptedServer
from hermes_plugins.testing.replies import call, say


def parts(command: Command, *options: str) -> dict[str, list[dict[str, object]]]:
    ended = command.run("prompt", "--json", *options)
    assert ended.status == 0, ended.err
    told = msgspec.json.decode(ended.stdout)
    groups: dict[str, list[dict[str, object]]] = {}
    for one in told["parts"]:
        groups.setdefault(one["group"], []).append(one)
    assert told["bytes"] == sum(one["bytes"] for one in told["parts"])
    assert told["estimate"] == "bytes/4"
    return groups


def test_a_new_session_is_measured_by_tool_and_section_and_not_kept(command: Command) -> None:
    (command.folder / "AGENTS.md").write_text("Be brief. " * 50, encoding="utf-8")
    groups = parts(command)
    assert {"read_file", "terminal"} <= {str(one["name"]) for one in groups["tools"]}
    names = [str(one["name"]) for one in groups["system"]]
    assert names[0] == "rules"
    assert any(name.startswith("file ") and name.endswith("AGENTS.md") for name in names)
    assert [one["name"] for one in groups["memory"]] == ["memory (plugin memory-files)"]
    assert "history" not in groups
    assert command.run("sessions", "list").out.startswith("No session yet")


def test_the_sizes_are_those_of_what_is_sent(command: Command) -> None:
    with ScriptedServer([say("Hello.")]) as server:
        command.talks_to(server)
        assert command.run("--cli", "-q", "hi there").status == 0
    system = server.requests[0].messages[0]["content"]
    groups = parts(command, "--session", "hi there")
    measured = sum(int(str(one["bytes"])) for one in groups["system"] + groups["memory"])
    assert measured == len(str(system).encode())
    sizes = {one["name"]: one["bytes"] for one in groups["history"]}
    assert sizes == {"user": 8, "assistant": 6}


def test_history_is_told_by_role_and_the_providers_own_count_stands_below(command: Command) -> None:
    (command.folder / "notes.txt").write_text("Buy milk.\n", encoding="utf-8")
    usage = {"prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127}
    with ScriptedServer(
        [call("read_file", {"path": "notes.txt"}), say("Milk.", usage=usage)]
    ) as server:
        command.talks_to(server)
        assert command.run("--cli", "-q", "what is in it?").status == 0
    out = command.run("prompt", "--session", "what is in it?").out
    assert re.search(r"^  tool results, 1 ", out, re.M)
    assert re.search(r"^  tool calls, 1 ", out, re.M)
    assert re.search(r"^together +[\d,]+ +[\d,]+ +100%$", out, re.M)
    assert "Tokens are estimated: one for 4 bytes." in out
    assert "Counted by the provider so far, 2 answers: 130 tokens in (0 from its cache" in out


def test_show_prints_what_the_model_reads(command: Command) -> None:
    with ScriptedServer([say("Hello.")]) as server:
        command.talks_to(server)
        assert command.run("--cli", "-q", "hi there").status == 0
    out = command.run("prompt", "--session", "hi there", "--show").out
    assert out.startswith(str(server.requests[0].messages[0]["content"]))
    assert '"name": "read_file"' in out
    assert out.endswith("# user\nhi there\n\n# assistant\nHello.\n")


def test_a_session_that_is_not_there_is_refused(command: Command) -> None:
    ended = command.run("prompt", "--session", "moon")
    assert ended.status == 2
    assert "there is no session 'moon'." in ended.err
    assert "hermes sessions list" in ended.err
