"""`hermes replay` on the screen: made from messages, or from the events that were kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from hermes_plugins import (
    ApprovalAsked,
    ApprovalDone,
    TextDelta,
    ToolDone,
    ToolStarted,
    TurnEnded,
    decode_event,
)
from hermes_plugins.testing import (
    Command,
    FakeApprover,
    HostFactory,
    ScriptedServer,
    VirtualClock,
    replies,
)

KEPT = {"plugins.replay.keep": True}
SECRET = "sk-test-not-a-real-key-1234567890"


@pytest.fixture
def script(model_server: ScriptedServer) -> ScriptedServer:
    model_server.script(
        replies.call("write_file", {"path": "a.txt", "content": "A"}),
        replies.call("terminal", {"command": "touch b.txt"}),
        replies.call("terminal", {"command": "touch c.txt"}),
        replies.say("Both, but one.", split=1),
    )
    return model_server


async def talk(
    hermes: HostFactory, server: ScriptedServer, text: str = "Write.", **options: object
) -> str:
    options.setdefault("approver", FakeApprover("once", "deny"))
    async with hermes(server=server, toolsets=("file", "terminal"), **options) as host:
        await host.ask(text)
        await host.watched()
        return (await host.session()).info.id


def events_of(home: Path, session: str) -> list[dict[str, object]]:
    file = home / "logs" / "events" / f"{session}.jsonl"
    return [json.loads(line) for line in file.read_bytes().splitlines()]


SHOWN = """\

> Write.

· write_file a.txt
· terminal touch b.txt
· terminal was not run: {why}
Both, but one.
"""


async def test_a_session_is_shown_again_from_its_messages(
    hermes: HostFactory, script: ScriptedServer, command: Command
) -> None:
    session = await talk(hermes, script)
    ended = command.run("replay", session)
    head, note, rest = ended.out.split("\n", 2)
    assert head == f"{session}  Write.  custom/scripted"
    assert note == ("(made from its messages; `plugins.replay.keep` keeps questions and times too)")
    assert rest == SHOWN.format(why="the person said no")
    assert (ended.status, ended.err) == (0, "")


async def test_events_that_were_kept_tell_the_questions_too(
    hermes: HostFactory, script: ScriptedServer, command: Command
) -> None:
    session = await talk(hermes, script, settings=KEPT)
    out = command.run("replay", session).out
    asked = "? terminal asked, because touch is not on the list of commands that only read:\n"
    assert asked + "    touch b.txt\n  answered: once (person)\n" in out
    assert "answered: deny (person)\n· terminal was not run: you said no\n" in out
    assert "made from" not in out


async def test_json_gives_the_events_as_chat_does(
    hermes: HostFactory, script: ScriptedServer, command: Command
) -> None:
    session = await talk(hermes, script, settings=KEPT)
    events = command.run("replay", session, "--json").events
    assert [type(one) for one in events if isinstance(one, ApprovalAsked | ApprovalDone)] == [
        ApprovalAsked,
        ApprovalDone,
    ] * 2
    assert "".join(one.text for one in events if isinstance(one, TextDelta)) == "Both, but one."
    assert isinstance(events[-1], TurnEnded)
    assert events[-1].usage.input == 40


async def test_events_made_from_messages_are_of_the_same_form(
    hermes: HostFactory, script: ScriptedServer, command: Command
) -> None:
    session = await talk(hermes, script)
    events = command.run("replay", session, "--json").events
    assert [one.seq for one in events] == list(range(1, len(events) + 1))
    assert {one.session for one in events} == {session}
    assert [one.tool for one in events if isinstance(one, ToolStarted)] == [
        "write_file",
        "terminal",
    ]
    ends = [one.status for one in events if isinstance(one, ToolDone)]
    assert ends == ["ok", "ok", "blocked"]
    (end,) = [one for one in events if isinstance(one, TurnEnded)]
    assert (end.outcome, end.model_calls, end.tool_calls) == ("completed", 4, 3)


async def test_nothing_is_kept_unless_it_is_wished(
    hermes: HostFactory, script: ScriptedServer, hermes_home: Path
) -> None:
    await talk(hermes, script)
    assert not (hermes_home / "logs" / "events").exists()


@pytest.mark.parametrize("split", [0, 1, 7])
async def test_a_secret_is_masked_wherever_it_is_and_however_it_was_cut(
    hermes: HostFactory, model_server: ScriptedServer, hermes_home: Path, split: int
) -> None:
    model_server.script(
        replies.call("write_file", {"path": "a.txt", "content": f"key = {SECRET}"}),
        replies.call("write_file", {"path": "b.txt", "password": "tr0ub4dor&3"}),
        replies.say(f"It is {SECRET}, keep it.", split=split),
    )
    session = await talk(hermes, model_server, f"Save {SECRET}", settings=KEPT)
    text = (hermes_home / "logs" / "events" / f"{session}.jsonl").read_text("utf-8")
    assert "test-not-a-real" not in text
    assert "tr0ub4dor" not in text
    assert text.count("«redacted") >= 4
    told = [decode_event(line) for line in text.splitlines()]
    assert "".join(one.text for one in told if isinstance(one, TextDelta)).endswith("keep it.")


async def test_neighbouring_deltas_are_kept_together_and_whole(
    hermes: HostFactory, model_server: ScriptedServer, hermes_home: Path
) -> None:
    said = "word " * 400
    model_server.script(replies.say(said, split=1))
    clock = VirtualClock()
    session = await talk(hermes, model_server, settings=KEPT, clock=clock)
    deltas = [one for one in events_of(hermes_home, session) if one["type"] == "text_delta"]
    assert [one["text"] for one in deltas] == [said]


async def test_only_the_owner_may_read_what_is_kept(
    hermes: HostFactory, script: ScriptedServer, hermes_home: Path
) -> None:
    session = await talk(hermes, script, settings=KEPT)
    file = hermes_home / "logs" / "events" / f"{session}.jsonl"
    assert file.stat().st_mode & 0o077 == 0


async def test_a_turn_that_was_cut_off_is_made_from_its_messages(
    hermes: HostFactory, script: ScriptedServer, hermes_home: Path, command: Command
) -> None:
    session = await talk(hermes, script, settings=KEPT)
    file = hermes_home / "logs" / "events" / f"{session}.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]) + lines[-1][:20])  # as a killed process leaves it
    out = command.run("replay", session).out
    assert "(made from its messages" in out
    assert "Both, but one." in out


async def test_events_of_sessions_that_are_gone_go_too(
    hermes: HostFactory, model_server: ScriptedServer, hermes_home: Path
) -> None:
    folder = hermes_home / "logs" / "events"
    folder.mkdir(parents=True)
    (folder / "20250101_000000_abcdef.jsonl").write_text("{}\n", "utf-8")
    model_server.script(replies.say("one"))
    session = await talk(hermes, model_server, settings=KEPT)
    assert [path.stem for path in folder.iterdir()] == [session]


async def test_the_oldest_events_go_when_there_are_too_many(
    hermes: HostFactory, model_server: ScriptedServer, hermes_home: Path
) -> None:
    sessions = []
    for number in range(3):
        model_server.script(replies.say(str(number) * 400_000))
        one = {**KEPT, "plugins.replay.megabytes": 2}
        sessions.append(await talk(hermes, model_server, settings=one))
    left = {path.stem for path in (hermes_home / "logs" / "events").iterdir()}
    assert left == set(sessions[1:])


async def test_the_pace_is_that_of_the_session_and_pauses_are_short(tmp_path: Path) -> None:
    from hermes_plugin_replay.showing import play

    clock = VirtualClock(autojump=True)
    events = [TextDelta(text="a", time=time) for time in (100.0, 101.0, 101.5, 4000.0)]
    shown: list[object] = []
    await play(events, shown.append, clock=clock, speed=2.0)
    assert clock.slept == [0.5, 0.25, 2.0]
    await play(events, shown.append, clock=clock, speed=0.0)
    assert len(clock.slept) == 3
    assert len(shown) == 8


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nothing-like-it"], "there is no session 'nothing-like-it'."),
        (["x", "--with", "a.txt"], "--with goes with --as-test."),
        (["x", "--as-test", "-", "--json"], "--as-test writes a file"),
        (["x", "--speed", "0"], "0.01"),
    ],
)
def test_a_wrong_use_is_told_in_two_lines(
    command: Command, words: Sequence[str], told: str
) -> None:
    ended = command.run("replay", *words)
    assert ended.status == 2
    assert told in ended.err
    assert len(ended.err.splitlines()) <= 2


async def test_what_could_steer_a_terminal_is_not_shown(
    hermes: HostFactory, model_server: ScriptedServer, command: Command
) -> None:
    model_server.script(replies.say("red \x1b[31malert\x1b]0;title\x07\x1b[2J\a."))
    session = await talk(hermes, model_server)
    out = command.run("replay", session).stdout
    assert b"red alert." in out
    assert b"\x1b" not in out
    assert msgspec.json.decode(command.run("replay", session, "--json").stdout.splitlines()[0])
