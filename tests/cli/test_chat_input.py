"""Where the question of ``hermes -q`` comes from: arguments and standard input."""

from __future__ import annotations

import os
import subprocess

import pytest

from hermes_plugins.testing import ScriptedServer, replies
from hermes_plugins.testing._command import Command, finish

posix = pytest.mark.skipif(os.name != "posix", reason="pipes and arguments of POSIX")


def asked(server: ScriptedServer, number: int = 0) -> str:
    return str(server.requests[number].messages[-1]["content"])


def test_the_question_may_be_piped_in(command: Command) -> None:
    with ScriptedServer([replies.say("yes")]) as server:
        command.talks_to(server)
        ended = command.run(input=b"is this piped?\n")
        assert asked(server) == "is this piped?"
    assert (ended.status, ended.out, ended.err) == (0, "yes\n", "")


def test_what_is_piped_in_follows_the_question(command: Command) -> None:
    with ScriptedServer([replies.say("yes")]) as server:
        command.talks_to(server)
        command.run("-q", "review this", input=b"+ a line\n- a line\n")
        assert asked(server) == "review this\n\n+ a line\n- a line"


@posix
def test_a_slow_pipe_beside_the_question_is_waited_for(command: Command) -> None:
    with ScriptedServer([replies.say("yes")]) as server:
        command.talks_to(server)
        command.shell("(sleep 1; echo late; sleep 0.2; echo later) | hermes -q question")
        assert asked(server) == "question\n\nlate\nlater"


@posix
def test_a_pipe_that_stays_open_and_silent_does_not_hold_up_the_answer(command: Command) -> None:
    read, write = os.pipe()
    with ScriptedServer([replies.say("yes")]) as server:
        command.talks_to(server)
        ended = command.run("-q", "question", stdin=read)
    os.close(write)
    os.close(read)
    assert (ended.status, ended.out) == (0, "yes\n")
    assert ended.err == (
        "hermes: nothing came on stdin within 3 s; going on without it.\n"
        "        `… < /dev/null` says at once that nothing will.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "data"),
    [
        (("-q", ""), None),
        (("-q", "  \n "), None),
        (("-z", ""), b"\n\n"),
        ((), None),
        ((), b""),
        ((), b"\x00"),
        (("--json",), b""),
    ],
)
def test_no_question_is_a_mistake_of_the_user(
    command: Command, arguments: tuple[str, ...], data: bytes | None
) -> None:
    ended = command.run(*arguments, input=data)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == (
        'hermes: there is no question.\n        `hermes chat -q "…"`, or pipe it in.\n'
    )
    assert not (command.home / "state.db").exists()


def test_two_questions_are_refused(command: Command) -> None:
    ended = command.run("-q", "one", "-z", "two")
    assert (ended.status, ended.out) == (2, "")
    assert "One question at a time" in ended.err


def test_a_huge_input_is_cut_and_said_to_be(command: Command) -> None:
    with ScriptedServer([replies.say("much")]) as server:
        command.talks_to(server)
        ended = command.run("-q", "sum it up", input=b"word " * 400_000)
        assert len(asked(server)) <= 400_000
    assert (ended.status, ended.out) == (0, "much\n")
    assert "cut to 400,000 of 2,000,011 characters" in ended.err


@posix
def test_an_endless_input_is_not_read_for_ever(command: Command) -> None:
    with ScriptedServer([replies.say("much")]) as server:
        command.talks_to(server)
        ended = command.shell("yes endless | hermes -q 'sum it up'")
    assert (ended.status, ended.out) == (0, "much\n")
    assert "only the first 8 MB of stdin were read" in ended.err


def test_bytes_that_are_no_text_are_replaced(command: Command) -> None:
    with ScriptedServer([replies.say("odd")]) as server:
        command.talks_to(server)
        ended = command.run(input=b"a\xff\xfe\x00b \xf0\x9f\x98\x80")
        assert asked(server) == "a\ufffd\ufffdb \U0001f600"
    assert ended.out == "odd\n"
    assert ended.err == "1 control character was taken out.\n"


@posix
def test_an_argument_that_is_no_text_is_replaced(command: Command) -> None:
    with ScriptedServer([replies.say("odd")]) as server:
        command.talks_to(server)
        ended = command.run("-q", b"a\x80b")
        assert asked(server) == "a\ufffdb"
    assert (ended.status, ended.out, ended.err) == (0, "odd\n", "")


@posix
def test_a_session_name_that_is_no_text_is_unknown(command: Command) -> None:
    ended = command.run("-q", "hi", "--resume", b"a\x80b")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("hermes: there is no session 'a?b'.\n")


@posix
def test_a_pipe_that_does_not_block_is_read_whole(command: Command) -> None:
    read, write = os.pipe()
    os.set_blocking(read, False)
    with ScriptedServer([replies.say("yes")]) as server:
        command.talks_to(server)
        process = command.start("-q", "question", stdin=read)
        os.write(write, b"first ")
        os.write(write, b"second")
        os.close(write)
        ended = finish(process)
        assert asked(server) == "question\n\nfirst second"
    os.close(read)
    assert ended.status == 0


def test_a_file_on_stdin_is_read(command: Command) -> None:
    file = command.folder / "question.txt"
    file.write_bytes(b"from a file")
    with ScriptedServer([replies.say("yes")]) as server, file.open("rb") as stdin:
        command.talks_to(server)
        command.run(stdin=stdin)
        assert asked(server) == "from a file"


@posix
def test_a_signal_while_input_is_awaited_ends_without_a_word(command: Command) -> None:
    import signal

    process = command.start(stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b"half a quest")
    process.stdin.flush()
    process.send_signal(signal.SIGTERM)
    ended = finish(process)
    assert ended.status in (-signal.SIGTERM, 143)
    assert (ended.out, ended.err) == ("", "")
