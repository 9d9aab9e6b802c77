"""What ``hermes chat -q`` writes where, and with which status it ends."""

from __future__ import annotations

import os

import pytest

from hermes_plugins import MessageDone, TurnEnded, TurnStarted
from hermes_plugins.testing import ScriptedServer, replies
from hermes_plugins.testing._command import Command

posix = pytest.mark.skipif(os.name != "posix", reason="shell syntax of POSIX")

HOSTILE = "plain \x1b[31mred\x1b[0m \x1b]0;pwned\x07title \x9b2Jcleared \x08\x07bell\r\nnext"
CLEAN = "plain red title cleared bell\nnext\n"

NOISY = '''
import os, subprocess
from hermes_plugins import Pure, hookimpl, tool
print("noise at import")

@tool(toolset="noisy", effects=[Pure()])
def shout() -> str:
    """Make noise."""
    print("noise from python")
    os.write(1, b"noise from the descriptor\\n")
    subprocess.run(["echo", "noise from a child"])
    return "shouted"

@hookimpl
def hermes_register_tools():
    print("noise at register")
    return [shout]
'''


@pytest.mark.parametrize("option", ["-q", "--query", "-z"])
def test_stdout_holds_the_answer_and_nothing_else(command: Command, option: str) -> None:
    with ScriptedServer([replies.say("Forty-two.", split=3)]) as server:
        command.talks_to(server)
        ended = command.run(option, "what is it?")
    assert (ended.status, ended.out, ended.err) == (0, "Forty-two.\n", "")


def test_the_answer_after_tools_is_the_last_one(command: Command) -> None:
    (command.folder / "note.txt").write_text("hello")
    script = [
        replies.calls([("read_file", {"path": "note.txt"})], text="Let me look."),
        replies.say("It says hello.\n\n"),
    ]
    with ScriptedServer(script) as server:
        command.talks_to(server)
        ended = command.run("chat", "-q", "read it")
    assert (ended.status, ended.out, ended.err) == (0, "It says hello.\n", "")


def test_json_is_one_event_a_line(command: Command) -> None:
    with ScriptedServer([replies.say("Grüße 你好 \U0001f600", split=2)]) as server:
        command.talks_to(server)
        ended = command.run("-q", "hi", "--json", environ={"PYTHONIOENCODING": "ascii"})
    assert ended.status == 0
    assert ended.err == ""
    assert isinstance(ended.events[0], TurnStarted)
    end = ended.events[-1]
    assert isinstance(end, TurnEnded)
    assert end.text == "Grüße 你好 \U0001f600"
    assert [event.seq for event in ended.events] == sorted(event.seq for event in ended.events)


def test_json_of_a_failing_turn_ends_with_its_outcome(command: Command) -> None:
    with ScriptedServer([replies.fail(401, "no such key")]) as server:
        command.talks_to(server)
        ended = command.run("-q", "hi", "--json")
    end = ended.events[-1]
    assert isinstance(end, TurnEnded)
    assert (ended.status, end.outcome) == (1, "failed")


def test_a_failing_turn_leaves_stdout_empty(command: Command) -> None:
    with ScriptedServer([replies.fail(401, "no such key")]) as server:
        command.talks_to(server)
        ended = command.run("-q", "hi")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith("hermes: ")
    assert "no such key" in ended.err


@posix
@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_what_plugins_and_children_print_does_not_reach_stdout(
    command: Command, extra: tuple[str, ...]
) -> None:
    with ScriptedServer([replies.call("shout"), replies.say("done")]) as server:
        command.talks_to(server)
        ended = command.run(
            *("-q", "go", "--plugin", "noisy", *extra),
            environ=command.with_modules(noisy=NOISY),
        )
    for noise in ("import", "register", "python", "the descriptor", "a child"):
        assert noise in ended.err
    assert ended.status == 0
    if extra:
        done = [one.message for one in ended.events if isinstance(one, MessageDone)]
        assert [one.text for one in done if one.role == "tool"] == ["shouted"]
    else:
        assert ended.out == "done\n"


def test_escape_sequences_of_the_model_do_not_reach_the_terminal(command: Command) -> None:
    with ScriptedServer([replies.say(HOSTILE)]) as server:
        command.talks_to(server)
        ended = command.run("-q", "hi")
    assert ended.out == CLEAN


def test_escape_sequences_of_a_server_do_not_reach_the_terminal(command: Command) -> None:
    with ScriptedServer([replies.fail(400, HOSTILE)]) as server:
        command.talks_to(server)
        ended = command.run("-q", "hi")
    assert "\x1b" not in ended.err
    assert "\x9b" not in ended.err
    assert "plain red" in ended.err


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "gbk", "utf-8"])
def test_no_encoding_of_the_terminal_makes_output_fail(command: Command, encoding: str) -> None:
    text = "— ✓ Grüße 你好 \U0001f600 ─│"
    with ScriptedServer([replies.say(text), replies.fail(400, text)]) as server:
        command.talks_to(server)
        environ = {"PYTHONIOENCODING": encoding}
        answered = command.run("-q", "hi", environ=environ)
        failed = command.run("-q", "hi", environ=environ)
        listed = command.run("sessions", "list", environ=environ)
    assert answered.status == 0
    assert answered.stdout.rstrip() == text.encode(encoding, "replace")
    assert failed.status == 1
    assert b"Traceback" not in failed.stderr
    assert listed.status == 0


def test_the_c_locale_answers(command: Command) -> None:
    with ScriptedServer([replies.say("Grüße 你好")]) as server:
        command.talks_to(server)
        environ = {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        ended = command.run("-q", "Grüße", environ=environ)
    assert ended.status == 0
    assert ended.stdout.startswith(b"Gr")
    assert b"Traceback" not in ended.stderr


@posix
@pytest.mark.parametrize(
    "line",
    [
        "hermes -q hi | true",
        "hermes -q hi --json | head -1",
        "hermes sessions list | true",
        "hermes --help | true",
        "hermes -q hi 2>&1 | true",
    ],
)
def test_a_reader_that_leaves_early_hears_no_complaint(command: Command, line: str) -> None:
    with ScriptedServer(then=replies.say("word " * 20_000)) as server:
        command.talks_to(server)
        ended = command.shell(line)
    assert ended.err == ""


@posix
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_problem(command: Command, closed: str) -> None:
    with ScriptedServer([replies.say("fine")]) as server:
        command.talks_to(server)
        ended = command.shell(f"hermes -q hi {closed}; echo status $?")
        assert len(server.requests) == 1
    assert ended.err == ""
    lines = ended.out.split()
    assert lines[-2:] == ["status", "0"]
    assert ("fine" in lines) == (closed in ("<&-", "2>&-"))


@posix
def test_an_answer_that_cannot_be_written_is_a_failure(command: Command) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with ScriptedServer([replies.say("fine")]) as server, open("/dev/full", "wb") as full:
        command.talks_to(server)
        ended = command.run("-q", "hi", stdout=full)
    assert ended.status == 1
    assert ended.err == (
        "hermes: the answer could not be written: No space left on device.\n"
        "        It is kept in the session: `hermes sessions list`\n"
    )


@posix
@pytest.mark.parametrize("arguments", [("-q", "hi"), ("--help",), ("sessions", "list"), ("-q",)])
def test_nothing_is_ever_coloured(command: Command, arguments: tuple[str, ...]) -> None:
    import pty

    main, other = pty.openpty()
    environ = {"TERM": "xterm-256color", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}
    with ScriptedServer([replies.say("# Head\n**bold**")]) as server:
        command.talks_to(server)
        process = command.start(*arguments, stdout=other, stderr=other, environ=environ)
        os.close(other)
        shown = b""
        while piece := _read(main):
            shown += piece
        process.wait(60)
    os.close(main)
    assert shown
    assert b"\x1b" not in shown


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux says so when the other side of a pty is closed
        return b""
