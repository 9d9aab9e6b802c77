"""Every error that a user is likely to meet, word for word, in ``errors.golden.txt``.

An error is what happened in one line, and in another what to do next, as a command. After a change of
wording, ``HERMES_UPDATE_GOLDEN=1 pytest tests/cli/test_errors.py`` writes the file anew; look at it.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_core.cli.app import run
from hermes_core.cli.face import AnswerFace
from hermes_plugins import RequestStarted, Retrying
from hermes_plugins.testing import ScriptedServer, VirtualClock, replies
from hermes_plugins.testing._command import Command, Ended, finish
from hermes_plugins.testing._host import HostFactory
from hermes_plugins.testing.replies import Reply

GOLDEN = Path(__file__).with_name("errors.golden.txt")
HEAD = "What users are told when something goes wrong. Written by test_errors.py.\n"
PATIENCE = 1800.0
"""Seconds the `custom` provider waits for a first byte."""
UPDATE = bool(os.environ.get("HERMES_UPDATE_GOLDEN"))

MODEL: dict[str, tuple[Reply, ...]] = {
    "wrong key": (replies.fail(401, "Incorrect API key provided."),),
    "no access": (replies.fail(403, "Your country is not supported."),),
    "firewall": (replies.html("Attention Required!", status=403),),
    "wrong address": (replies.fail(404, "Not Found"),),
    "wrong address, a web page": (replies.html("404 Not Found", status=404),),
    "unknown model": (replies.fail(404, "The model `scripted` does not exist"),),
    "out of credit": (replies.fail(402, "Insufficient credits"),),
    "bad request": (replies.fail(400, "Unsupported value: 'temperature'"),),
    "conversation too long": (
        replies.fail(400, "This model's maximum context length is 8192 tokens."),
    ),
    "too many requests, then fine": (
        replies.fail(429, "Slow down.", headers={"retry-after": "7"}),
        replies.say("ok"),
    ),
    "too many requests for long": (
        replies.fail(429, "Daily limit reached.", headers={"retry-after": "3600"}),
    ),
    "broken server": (replies.fail(500, "oops"),) * 3,
    "a web page instead of an answer": (replies.html("Welcome to nginx!"),) * 3,
    "an empty stream": (replies.say(""),) * 3,
    "cut before the answer": (replies.cut("", after=0),) * 3,
    "cut in the middle of the answer": (replies.cut("Half an", after=1),),
    "no end of the answer": (replies.no_finish("Half an"),),
    "cut at the output limit": (replies.say("Half an", finish="length"),),
    "an error inside the stream": (replies.error_in_stream("The engine died.", after="Half an"),),
    "an error at the start of the stream": (
        replies.error_in_stream("quota", code="insufficient_quota"),
    ),
    "nothing but thoughts": (replies.think("Let me see."),),
    "refused": (replies.say("", finish="content_filter"),),
}


@pytest.fixture(scope="module")
def golden() -> Iterator[dict[str, str]]:
    """The sections of the file by name; with the switch, what the tests say becomes the file."""
    sections = {} if UPDATE else dict(_sections(GOLDEN.read_text("utf-8")))
    yield sections
    if UPDATE:
        body = "".join(f"\n== {name}\n{sections[name]}" for name in sorted(sections))
        GOLDEN.write_text(HEAD + body, encoding="utf-8")


def _sections(text: str) -> Iterator[tuple[str, str]]:
    for part in text.split("\n== ")[1:]:
        name, _, body = part.partition("\n")
        yield name, body if body.endswith("\n") else body + "\n"


def check(golden: dict[str, str], name: str, text: str) -> None:
    if UPDATE:
        golden[name] = text
    assert text == golden.get(name), f"{name}: the text is not the one in {GOLDEN.name}"


def plain(text: str, *places: tuple[str, str]) -> str:
    """The text without what differs from run to run."""
    for place, word in places:
        text = text.replace(place, word)
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
    text = re.sub(r"\bin \d+ s\b", "in N s", text)
    return re.sub(r"\d{8}_\d{6}_[0-9a-f]{6}", "20261130_101500_ab12cd", text)


async def told(hermes: HostFactory, server: ScriptedServer | None = None, **options: object) -> str:
    """What ``-q`` prints on stderr, and the answer where there is one."""
    clock = VirtualClock()
    out, err = io.StringIO(), io.StringIO()
    face = AnswerFace(out, err)
    async with hermes(server=server, clock=clock, toolsets=("todo",), **options) as host:
        session = await host.session()
        async with session.run("hi") as turn:
            async for event in turn:
                face.show(event)
                if isinstance(event, Retrying):
                    await clock.advance(event.delay)
    answer = f"(answer: {out.getvalue().rstrip()})\n" if out.getvalue() else ""
    return plain(err.getvalue() + answer)


@pytest.mark.parametrize("name", MODEL)
async def test_what_a_model_does_wrong(
    hermes: HostFactory, golden: dict[str, str], name: str
) -> None:
    with ScriptedServer(MODEL[name]) as server:
        text = await told(hermes, server)
        assert len(server.requests) == len(MODEL[name])
    check(golden, f"model: {name}", text)


async def test_a_model_that_stays_silent(hermes: HostFactory, golden: dict[str, str]) -> None:
    clock = VirtualClock()
    out, err = io.StringIO(), io.StringIO()
    face = AnswerFace(out, err)

    async def pass_time(server: ScriptedServer, number: int) -> None:
        await asyncio.to_thread(server.wait_for_requests, number)
        await clock.advance(PATIENCE)

    with ScriptedServer(then=replies.hang()) as server:
        async with hermes(server=server, clock=clock, toolsets=("todo",)) as host:
            session = await host.session()
            waits = []
            async with session.run("hi") as turn:
                async for event in turn:
                    face.show(event)
                    if isinstance(event, RequestStarted):
                        waits.append(asyncio.ensure_future(pass_time(server, 1)))
                    if isinstance(event, Retrying):
                        await clock.advance(event.delay)
                        waits.append(asyncio.ensure_future(pass_time(server, event.attempt + 1)))
            await asyncio.gather(*waits)
    check(golden, "model: silence", plain(err.getvalue()))


async def test_a_server_that_is_not_there(hermes: HostFactory, golden: dict[str, str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        settings = {
            "model.provider": "custom",
            "model.name": "m",
            "model.base_url": f"http://127.0.0.1:{taken.getsockname()[1]}/v1",
        }
        text = await told(hermes, settings=settings)
    check(golden, "model: nobody listens", text)


async def test_an_address_that_is_none(hermes: HostFactory, golden: dict[str, str]) -> None:
    settings = {"model.provider": "custom", "model.name": "m", "model.base_url": "localhost:1/v1"}
    check(golden, "model: no address", await told(hermes, settings=settings))


COMMANDS: dict[str, tuple[tuple[str, ...], str]] = {
    "unknown command": (("chta",), ""),
    "a question without -q": (("what is this?",), ""),
    "unknown option": (("chat", "--colour"), ""),
    "a value that is no number": (("-q", "hi", "--max-turns", "many"), ""),
    "no question": (("-q", ""), ""),
    "unknown session": (("-q", "hi", "--resume", "nope"), ""),
    "no session to continue": (("-q", "hi", "-c"), ""),
    "unknown session shown": (("sessions", "show", "nope"), ""),
    "unknown toolset": (("-q", "hi", "-t", "fiel"), ""),
    "unknown provider": (("-q", "hi", "--provider", "opnai"), ""),
    "missing key": (("-q", "hi", "-m", "openai/gpt-5"), ""),
    "a server without an address": (("-q", "hi", "--provider", "custom"), ""),
    "a bad profile name": (("-p", "../x", "-q", "hi"), ""),
    "-q without its question": (("-q",), ""),
    "a question without quotes": (("-q", "what", "is", "this"), ""),
    "two questions": (("-q", "what", "-z", "why"), ""),
    "two sessions": (("-q", "hi", "-r", "boat", "-c"), ""),
    "a copy of nothing": (("-q", "hi", "--fork"), ""),
    "two faces": (("--cli", "--tui"), ""),
    "unknown command of a group": (("sessions", "lst"), ""),
    "an argument that is missing": (("sessions", "show"), ""),
    "unknown setting": (("config", "get", "agent.max_turn"), ""),
    "unknown plugin": (("plugins", "info", "fil"), ""),
    "unknown plugin to switch on": (("plugins", "enable", "wether"), ""),
    "a short name to install": (("plugins", "install", "weather"), ""),
    "a folder to install that is not there": (("plugins", "install", "./weather"), ""),
    "a plugin to remove that is not there": (("plugins", "uninstall", "hermes-plugin-x"), ""),
    "a name that no plugin can have": (("plugins", "new", "Weather"), ""),
    "unknown shell": (("completion", "tcsh"), ""),
    "no chat platform": (("gateway", "run"), ""),
    "no gateway to stop": (("gateway", "stop"), ""),
    "a plugin that is not there": (("-q", "hi", "--plugin", "no_such_module"), ""),
    "broken YAML": (("-q", "hi"), "agent: [1\n"),
    "a key twice": (("-q", "hi"), "agent: {name: A}\nagent: {name: B}\n"),
    "an unknown key": (("-q", "hi"), "agent: {max_turn: 5}\n"),
    "a value of the wrong kind": (("-q", "hi"), "agent: {max_turns: many}\n"),
    "a variable that is not set": (("-q", "hi"), "agent: {name: '${NO_SUCH_NAME}'}\n"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_user_does_wrong(
    golden: dict[str, str],
    name: str,
    capsys: pytest.CaptureFixture[str],
    hermes_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments, settings = COMMANDS[name]
    monkeypatch.chdir(tmp_path)
    if settings:
        hermes_home.mkdir()
        (hermes_home / "hermes.yaml").write_text(settings, encoding="utf-8")
    status = run(arguments)
    shown = capsys.readouterr()
    errors = plain(shown.err, (str(hermes_home), "HOME"), (str(tmp_path), "FOLDER"))
    if status == 0:  # said, and gone on: the answer is the offline model's
        errors = "\n".join(line for line in errors.splitlines() if "hermes" in line.lower()) + "\n"
    check(golden, f"command: {name}", f"{errors}(status {status})\n")
    assert "Traceback" not in shown.err


FAILS = "raise RuntimeError('no moon tonight')\n"
FORBIDS = """
from hermes_plugins import hookimpl

@hookimpl
def hermes_before_tool_call(call, moon):
    return None
"""


def in_use(command: Command, tmp_path: Path) -> Ended:
    release = threading.Event()
    with ScriptedServer([replies.hold(replies.say("late"), release)]) as slow:
        command.talks_to(slow)
        holder = command.start("-q", "a boat")
        slow.wait_for_requests(1)
        busy = command.run("-c", "-q", "second")
        release.set()
        finish(holder)
    return busy


def other_profile(command: Command, tmp_path: Path) -> Ended:
    (command.home / "profiles" / "work").mkdir(parents=True)
    return command.run("-p", "wrok", "sessions", "list")


def home_is_a_file(command: Command, tmp_path: Path) -> Ended:
    command.home.write_text("", encoding="utf-8")
    return command.run("-q", "hi")


def folder_is_gone(command: Command, tmp_path: Path) -> Ended:
    gone = tmp_path / "gone"
    gone.mkdir()
    line = f"import os, sys; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); {RUN}"
    return command.run("-q", "hi", program=(sys.executable, "-c", line))


RUN = "from hermes_core.cli.main import main; main()"


def damaged(command: Command, tmp_path: Path) -> Ended:
    command.home.mkdir()
    (command.home / "state.db").write_text("no database at all" * 100, encoding="utf-8")
    return command.run("sessions", "list")


def full_disk(command: Command, tmp_path: Path) -> Ended:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "wb") as full:
        return command.run("config", "show", stdout=full)


def full_disk_for_an_answer(command: Command, tmp_path: Path) -> Ended:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "wb") as full:
        return command.run("-q", "hi", "--provider", "offline", stdout=full)


def no_such_place(command: Command, tmp_path: Path) -> Ended:
    command.run("-q", "boat", "--provider", "offline")
    (tmp_path / "no").write_text("a file where a folder belongs", encoding="utf-8")
    return command.run("sessions", "export", "boat", "-o", str(tmp_path / "no" / "file"))


def closed_pipe(command: Command, tmp_path: Path) -> Ended:
    read, write = os.pipe()
    os.close(read)
    try:
        return command.run("config", "show", stdout=write)
    finally:
        os.close(write)


def not_utf_8(command: Command, tmp_path: Path) -> Ended:
    return command.run("-q", "hi", "--provider", "offline", input=b"\xff\xfe\x00caf\xe9")


def plugin_fails(command: Command, tmp_path: Path) -> Ended:
    return command.run("-q", "hi", "--plugin", "moon", environ=command.with_modules(moon=FAILS))


def plugin_is_wrong(command: Command, tmp_path: Path) -> Ended:
    return command.run("-q", "hi", "--plugin", "moon", environ=command.with_modules(moon=FORBIDS))


def second_gateway(command: Command, tmp_path: Path) -> Ended:
    from hermes_core.store.writer import lock

    command.home.mkdir()
    handle = os.open(command.home / "gateway.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        assert lock(handle)
        return command.run("gateway", "run")
    finally:
        os.close(handle)


def bad_script(command: Command, tmp_path: Path) -> Ended:
    script = tmp_path / "script.json"
    script.write_text('[{"reply": "say", "text": "hi"},]', encoding="utf-8")
    return command.run("--script", str(script), program=SERVER)


def port_is_taken(command: Command, tmp_path: Path) -> Ended:
    script = tmp_path / "script.json"
    script.write_text("[]", encoding="utf-8")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        return command.run("--script", str(script), "--port", port, program=SERVER)


SERVER = (sys.executable, "-m", "hermes_plugins.testing.server")
PLACES: dict[str, Callable[[Command, Path], Ended]] = {
    "a session in use": in_use,
    "a mistyped profile": other_profile,
    "a home that is a file": home_is_a_file,
    "a folder that is gone": folder_is_gone,
    "a damaged database": damaged,
    "a full disk": full_disk,
    "a full disk for an answer": full_disk_for_an_answer,
    "a file that cannot be written": no_such_place,
    "a closed pipe": closed_pipe,
    "input that is not UTF-8": not_utf_8,
    "a plugin that fails": plugin_fails,
    "a plugin with a hook that is wrong": plugin_is_wrong,
    "a second gateway": second_gateway,
    "a bad script": bad_script,
    "a port that is taken": port_is_taken,
}


@pytest.mark.skipif(sys.platform == "win32", reason="words of a POSIX system")
@pytest.mark.parametrize("name", PLACES)
def test_what_goes_wrong_around_it(
    golden: dict[str, str], name: str, command: Command, tmp_path: Path
) -> None:
    ended = PLACES[name](command, tmp_path)
    text = plain(ended.err, (str(command.home), "HOME"), (str(tmp_path), "FOLDER"))
    text = re.sub(r"\bpid \d+ on [^\s)]+", "pid 4242 on box", text)
    text = re.sub(r"\bport \d+\b", "port PORT", text)
    check(golden, f"around: {name}", f"{text}(status {ended.status})\n")
    assert "Traceback" not in ended.err


# Said without a command: there is nothing to run.
WITHOUT: frozenset[str] = frozenset(
    {
        "around: a damaged database",  # a backup is no command
        "around: a closed pipe",  # whoever closed it knows
        "around: input that is not UTF-8",  # it was taken as it is
        "model: too many requests, then fine",
    }
)


def test_each_says_what_to_do_next_in_one_or_two_lines(golden: dict[str, str]) -> None:
    for name, text in golden.items():
        lines = [line for line in text.splitlines() if not line.startswith("(")]
        said = [line for line in lines if not line.endswith("Trying again in N s.")]
        assert len(said) <= 2, f"{name}: more than two lines"
        if name not in WITHOUT:
            is_command = r"hermes (?:-|[a-z])|`(?:cd|df|python -m)\b|HERMES_HOME|Did you mean"
            assert re.search(is_command, " ".join(said[-2:])), f"{name}: no command"


def test_the_golden_file_holds_nothing_else(golden: dict[str, str]) -> None:
    names = {f"command: {name}" for name in COMMANDS} | {f"model: {name}" for name in MODEL}
    names |= {f"around: {name}" for name in PLACES}
    names |= {"model: silence", "model: nobody listens", "model: no address"}
    assert set(golden) == names
