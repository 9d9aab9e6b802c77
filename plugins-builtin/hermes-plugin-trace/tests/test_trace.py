"""The trace: every watching hook, one line each."""

from __future__ import annotations

import inspect
import stat
import sys
import threading
from pathlib import Path

import msgspec
import pytest
from hermes_plugin_trace import Trace
from hermes_plugin_trace.lines import MAX_BYTES, Settings, append

from hermes_core import hookspecs
from hermes_plugins import (
    CallView,
    Effects,
    ModelRequest,
    ProviderError,
    ResultView,
    SessionInfo,
    ToolCall,
    TurnEnded,
    Usage,
    assistant_message,
    user_message,
)
from hermes_plugins.testing import FakeHost

SECRET = "sk-test-not-a-real-key"
SESSION = SessionInfo(id="s-1")
CALL = CallView(
    id="call-1",
    tool="terminal",
    toolset="terminal",
    arguments={"command": f"echo {SECRET}"},
    effects=Effects(runs=("echo",)),
    session="s-1",
    turn="t-1",
    workspace="/w",
    face="cli",
)
VALUES: dict[str, object] = {
    "session": SESSION,
    "resumed": False,
    "turn": "t-1",
    "message": user_message(f"my key is {SECRET}"),
    "request": ModelRequest(model="m", system=SECRET, messages=[user_message(SECRET)]),
    "error": ProviderError(f"bad key {SECRET}", status=401, body=SECRET, reason="auth"),
    "attempt": 1,
    "response": assistant_message(
        SECRET, tool_calls=(ToolCall(id="call-1", name="terminal", arguments=SECRET),)
    ),
    "usage": Usage(input=10, output=2),
    "call": CALL,
    "answer": "once",
    "by": "person",
    "result": ResultView(call=CALL, status="ok", raw=SECRET, shown=SECRET, seconds=0.5),
    "end": TurnEnded(turn="t-1", outcome="completed", text=SECRET, model_calls=2, model="m"),
    "where": "a hook",
}
HOOKS = [name for name in vars(hookspecs) if name.startswith("hermes_on_")]
HOOKS.remove("hermes_on_events")  # batches of what is shown; each has a line of its own already


async def fire(trace: Trace, host: FakeHost, *hooks: str) -> list[dict[str, object]]:
    """Call hooks with a value for each argument that they name, and return the file's lines."""
    for hook in hooks:
        function = getattr(trace, hook)
        names = inspect.signature(function).parameters
        await function(**{name: host if name == "host" else VALUES[name] for name in names})
    return lines(host.paths.logs / "trace.jsonl")


def lines(path: Path) -> list[dict[str, object]]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    return FakeHost(tmp_path, plugin="trace")


async def test_every_watching_hook_writes_one_line(host: FakeHost) -> None:
    found = await fire(Trace(), host, *HOOKS)
    assert [f"hermes_on_{line['event']}" for line in found] == HOOKS
    assert [line["seq"] for line in found] == list(range(1, len(HOOKS) + 1))
    assert {line["time"] for line in found} == {host.clock.now()}


async def test_lines_carry_the_ids_of_session_turn_and_call(host: FakeHost) -> None:
    started, called, ended = await fire(
        Trace(), host, "hermes_on_turn_start", "hermes_on_tool_result", "hermes_on_turn_end"
    )
    assert (started["session"], started["turn"]) == ("s-1", "t-1")
    assert (called["session"], called["turn"], called["call"]) == ("s-1", "t-1", "call-1")
    assert (called["tool"], called["status"], called["seconds"]) == ("terminal", "ok", 0.5)
    assert (ended["session"], ended["turn"], ended["outcome"]) == ("s-1", "t-1", "completed")


async def test_requests_and_answers_are_counted(host: FakeHost) -> None:
    sent, failed, answered = await fire(
        Trace(),
        host,
        "hermes_on_model_request",
        "hermes_on_model_error",
        "hermes_on_model_response",
    )
    assert (sent["model"], sent["messages"]) == ("m", 1)
    assert (failed["error"], failed["reason"], failed["status"]) == ("ProviderError", "auth", 401)
    assert answered["usage"] == {"input": 10, "output": 2}
    assert answered["calls"] == ["terminal"]


async def test_nothing_that_people_models_or_tools_said_is_in_it(host: FakeHost) -> None:
    await fire(Trace(), host, *HOOKS)
    assert SECRET not in (host.paths.logs / "trace.jsonl").read_text(encoding="utf-8")


async def test_arguments_and_error_texts_are_written_when_asked_for(tmp_path: Path) -> None:
    host = FakeHost(tmp_path, section=Settings(include_arguments=True))
    called, failed = await fire(Trace(), host, "hermes_on_tool_call", "hermes_on_error")
    assert called["arguments"] == CALL.arguments
    assert str(failed["text"]).startswith("bad key")


async def test_the_file_can_be_put_elsewhere(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "t.jsonl"
    host = FakeHost(tmp_path, section=Settings(file=str(target)))
    trace = Trace()
    await trace.hermes_on_start(host)
    assert [line["event"] for line in lines(target)] == ["start"]
    assert not host.paths.logs.exists()


async def test_nothing_is_written_before_the_first_hook(host: FakeHost) -> None:
    trace = Trace()
    trace.hermes_register_config()
    assert not host.paths.logs.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
async def test_only_the_owner_can_read_it(host: FakeHost) -> None:
    await fire(Trace(), host, "hermes_on_start")
    assert stat.S_IMODE((host.paths.logs / "trace.jsonl").stat().st_mode) == 0o600


def test_a_full_file_is_set_aside_and_three_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    for number in range(6):
        append(path, b"%d" % number + b"x" * (MAX_BYTES - 10))
    names = sorted(found.name for found in tmp_path.iterdir() if found.is_file())
    assert names == ["trace.jsonl", "trace.jsonl.1", "trace.jsonl.2", "trace.jsonl.3"]
    assert [path.with_name(name).read_bytes()[:1] for name in names] == [b"5", b"4", b"3", b"2"]


def test_writers_at_once_tear_no_line(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"

    def write(number: int) -> None:
        for _ in range(100):
            append(path, b"%d" % number * 500)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = path.read_bytes().splitlines()
    assert len(found) == 400
    assert all(len(line) == 500 and len(set(line)) == 1 for line in found)
