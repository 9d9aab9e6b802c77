"""Signals: one interrupts, the program ends with the status that shells expect, nothing is left over."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from pathlib import Path

import msgspec
import pytest

from hermes_plugins import Message, TurnEnded, decode_event
from hermes_plugins.testing import ScriptedServer, replies
from hermes_plugins.testing._command import SECONDS, Command, finish

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


def messages(command: Command, session: str) -> list[Message]:
    lines = command.run("sessions", "export", session).stdout.splitlines()[1:]
    return [msgspec.convert(msgspec.json.decode(line)["message"], Message) for line in lines]


def only_session(command: Command) -> str:
    (found,) = msgspec.json.decode(command.run("sessions", "list", "--json").stdout)
    return str(found["id"])


def is_valid(request: object) -> bool:
    """Every call of a request is answered, in order, and every result has its call."""
    open_calls: list[str] = []
    for message in request:  # type: ignore[attr-defined]
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                return False
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            return False
        open_calls = [call["id"] for call in message.get("tool_calls") or []]
    return not open_calls


@pytest.mark.parametrize("number", STATUS)
def test_a_signal_while_the_answer_streams_keeps_what_there_is(
    command: Command, number: signal.Signals
) -> None:
    release = threading.Event()
    slow = replies.hold(replies.say("Half of the answer", split=4), release, after=4)
    with ScriptedServer([slow, replies.say("The rest.")]) as server:
        command.talks_to(server)
        process = command.start("-q", "go", "--json")
        seen = _read_until(process, b'"text_delta"')
        process.send_signal(number)
        ended = finish(process)
        release.set()
        events = [decode_event(line) for line in (seen + ended.stdout).splitlines()]
        end = events[-1]
        resumed = command.run("-c", "-q", "go on")
        assert is_valid(server.requests[-1].messages)
    assert ended.status == STATUS[number]
    assert ended.err == ""
    assert isinstance(end, TurnEnded)
    assert end.outcome == "interrupted"
    assert "Half of the answer".startswith(end.text)
    stored = messages(command, only_session(command))
    assert [one.role for one in stored] == ["user", "assistant", "user", "assistant"]
    assert (stored[1].text, stored[1].status) == (end.text, "interrupted")
    assert resumed.out == "The rest.\n"


@pytest.mark.parametrize("number", STATUS)
def test_a_signal_in_a_tool_ends_its_whole_process_group(
    command: Command, number: signal.Signals
) -> None:
    pids = command.folder / "pids"
    line = f"sleep 100 & echo $! >> {pids}; echo $$ >> {pids}; sleep 100"
    script = [replies.call("terminal", {"command": line}), replies.say("Resumed.")]
    with ScriptedServer(script) as server:
        command.talks_to(server)
        process = command.start("-q", "go", "--yolo")
        running = _wait_for_lines(pids, 2, process)
        process.send_signal(number)
        ended = finish(process)
        assert not [pid for pid in running if _alive(pid)]
        stored = messages(command, only_session(command))
        resumed = command.run("-c", "-q", "go on")
        assert is_valid(server.requests[-1].messages)
    assert (ended.status, ended.out) == (STATUS[number], "")
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("hermes: Interrupted: ")
    assert [(one.role, one.status) for one in stored[1:]] == [
        ("assistant", "ok"),
        ("tool", "interrupted"),
    ]
    assert (resumed.status, resumed.out) == (0, "Resumed.\n")


def test_a_signal_while_a_retry_is_awaited_ends_at_once(command: Command) -> None:
    busy = replies.fail(503, "busy", headers={"retry-after": "60"})
    with ScriptedServer(then=busy) as server:
        command.talks_to(server)
        process = command.start("-q", "go")
        server.wait_for_requests(1, seconds=SECONDS)
        _read_until(process, b"Trying again", stream="stderr")
        process.send_signal(signal.SIGINT)
        ended = finish(process)
    assert (ended.status, ended.out) == (130, "")
    assert ended.err == "hermes: Interrupted: you pressed Ctrl-C.\n"


def test_a_second_signal_does_not_wait_for_a_tool_that_does_not_listen(command: Command) -> None:
    started = command.folder / "started"
    with ScriptedServer([replies.call("deaf", {"path": str(started)})]) as server:
        command.talks_to(server)
        process = command.start(
            "-q", "go", "--plugin", "deaf", environ=command.with_modules(deaf=DEAF)
        )
        _wait_for_lines(started, 1, process)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        ended = finish(process)
    assert ended.status == 130
    assert "Traceback" not in ended.err


DEAF = '''
import threading
from hermes_plugins import Pure, hookimpl, tool

@tool(toolset="deaf", effects=[Pure()], timeout=-1)
def deaf(path: str) -> str:
    """Never listen."""
    with open(path, "w") as file:
        file.write("started\\n")
    threading.Event().wait()
    return ""

@hookimpl
def hermes_register_tools():
    return [deaf]
'''


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("delay", [0.0, 0.05, 0.1, 0.2, 0.3, 0.4])
def test_a_signal_at_any_moment_of_the_start_prints_no_traceback(
    command: Command, number: signal.Signals, delay: float
) -> None:
    with ScriptedServer(then=replies.hang()) as server:
        command.talks_to(server)
        process = command.start("-q", "go")
        threading.Event().wait(delay)  # the moment is what is tested
        process.send_signal(number)
        ended = finish(process)
    assert ended.status in (STATUS[number], -number)
    assert ended.out == ""
    if "from hermes_core.cli.main import main" not in ended.err:  # Python itself was still starting
        assert "Traceback" not in ended.err


def test_an_ignored_signal_stays_ignored(command: Command) -> None:
    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    release = threading.Event()
    with ScriptedServer([replies.hold(replies.say("Unmoved."), release)]) as server:
        command.talks_to(server)
        process = command.start("-q", "go", before=ignore)
        server.wait_for_requests(1, seconds=SECONDS)
        process.send_signal(signal.SIGHUP)
        release.set()
        ended = finish(process)
    assert (ended.status, ended.out) == (0, "Unmoved.\n")


def _read_until(process: subprocess.Popen[bytes], mark: bytes, *, stream: str = "stdout") -> bytes:
    """Whole lines of output, up to the one with the mark."""
    source = getattr(process, stream)
    seen = b""
    while mark not in seen:
        line = source.readline()
        assert line, f"{mark!r} did not come: {seen!r}"
        seen += line
    return seen


def _wait_for_lines(file: Path, count: int, process: subprocess.Popen[bytes]) -> list[int | str]:
    """What a tool wrote into the file, once it is there."""
    for _ in range(SECONDS * 50):
        lines = file.read_text().split() if file.exists() else []
        if len(lines) >= count:
            return [int(line) if line.isdecimal() else line for line in lines]
        assert process.poll() is None, process.communicate()
        threading.Event().wait(0.02)
    raise AssertionError(f"{file} was not written")


def _alive(pid: int | str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")
