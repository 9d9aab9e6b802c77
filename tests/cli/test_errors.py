"""Every error that a user is likely to meet, word for word, in ``errors.golden.txt``.

An error is what happened in one line, and in another what to do next. After a change of wording,
``HERMES_UPDATE_GOLDEN=1 pytest tests/cli/test_errors.py`` writes the file anew; read the difference.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_core.cli.app import run
from hermes_core.cli.face import AnswerFace
from hermes_plugins import RequestStarted, Retrying
from hermes_plugins.testing import ScriptedServer, VirtualClock, replies
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
    errors = plain(shown.err, (str(hermes_home), "HOME"))
    if status == 0:  # said, and gone on: the answer is the offline model's
        errors = "\n".join(line for line in errors.splitlines() if "hermes" in line.lower()) + "\n"
    check(golden, f"command: {name}", f"{errors}(status {status})\n")
    assert "Traceback" not in shown.err


def test_the_golden_file_holds_nothing_else(golden: dict[str, str]) -> None:
    names = {f"command: {name}" for name in COMMANDS} | {f"model: {name}" for name in MODEL}
    names |= {"model: silence", "model: nobody listens", "model: no address"}
    assert set(golden) == names
