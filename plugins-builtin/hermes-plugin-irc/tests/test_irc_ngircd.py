"""The gateway on a real IRC server: `hermes gateway run` as a process, a scripted model, people."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes_plugins.testing import ScriptedServer, replies
from hermes_plugins.testing._command import Command
from hermes_plugins.testing._server import ScriptedRequest


def echo(request: ScriptedRequest) -> replies.Reply:
    """Says which question it answers."""
    return replies.say(f"answer to {last_question(request)}")


def last_question(request: ScriptedRequest) -> str:
    asked = [one for one in request.json["messages"] if one["role"] == "user"]
    content = asked[-1]["content"]
    return content if isinstance(content, str) else content[-1]["text"]


@pytest.fixture
def script() -> list[Callable[[ScriptedRequest], replies.Reply]]:
    """What the model says; a test puts another function in."""
    return [echo]


@pytest.fixture
def model(script: list[Callable[[ScriptedRequest], replies.Reply]]) -> Iterator[ScriptedServer]:
    with ScriptedServer(lambda request: script[0](request)) as server:
        yield server


class Gateway:
    """`hermes gateway run` on a home of the test's own."""

    def __init__(self, command: Command, port: int) -> None:
        self.command = command
        self.port = port
        self.process: subprocess.Popen[bytes] | None = None

    def configure(self, **platform: object) -> None:
        settings = {
            "platforms": {
                "irc": {"enabled": True, "allow": ["ada!*"], "per_second": 1000, **platform}
            },
            "plugins": {
                "irc": {
                    "server": "127.0.0.1",
                    "port": self.port,
                    "tls": False,
                    "channels": ["#garden"],
                }
            },
        }
        self.command.home.mkdir(exist_ok=True)
        text = msgspec.json.encode(settings)  # JSON is YAML
        (self.command.home / "hermes.yaml").write_bytes(text)

    def start(self) -> None:
        with (self.command.home.parent / "gateway.err").open("ab") as errors:
            self.process = self.command.start(
                "gateway", "run", stdout=subprocess.DEVNULL, stderr=errors
            )

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)
        return self.process.returncode


@pytest.fixture
async def gateway(command: Command, model: ScriptedServer, ngircd: Any) -> AsyncIterator[Gateway]:
    command.talks_to(model)
    gateway = Gateway(command, ngircd.port)
    gateway.configure()
    yield gateway
    if gateway.process is not None and gateway.process.poll() is None:
        gateway.kill()


@pytest.fixture
def command(hermes_home: Path, tmp_path: Path) -> Command:
    folder = tmp_path / "folder"
    folder.mkdir()
    return Command(hermes_home, folder)


async def test_a_private_message_is_answered_and_the_conversation_goes_on_after_a_restart(
    gateway: Gateway, enter: Any, model: ScriptedServer
) -> None:
    ada = await enter("ada")
    gateway.start()
    await ada.reaches("hermes")
    ada.say("hermes", "one")
    await ada.hears("answer to one")
    assert await asyncio.to_thread(gateway.end) == 0
    gateway.start()
    await ada.reaches("hermes")
    ada.say("hermes", "two")
    await ada.hears("answer to two")
    said = [
        one["content"] for one in model.requests[-1].json["messages"] if one["role"] != "system"
    ]
    assert said == ["one", "answer to one", "two"]


async def test_in_a_channel_it_answers_when_it_is_addressed_only(
    gateway: Gateway, enter: Any
) -> None:
    ada = await enter("ada")
    gateway.start()
    await ada.reaches("hermes")
    ada.write("JOIN #garden")
    await ada.sees(" 366 ")
    ada.say("#garden", "hermes is a bot")
    ada.say("#garden", "we talk about hermes: here")
    ada.say("#garden", "Hermes: what grows?")
    await ada.hears("answer to what grows?")
    ada.say("#garden", "hermes, and now?")
    await ada.hears("answer to and now?")
    assert len(ada.heard()) == 2


async def test_a_stranger_gets_silence_and_costs_nothing(
    gateway: Gateway, enter: Any, model: ScriptedServer
) -> None:
    ada, mallory = await enter("ada"), await enter("mallory")
    gateway.start()
    await ada.reaches("hermes")
    mallory.say("hermes", "let me in")
    ada.say("hermes", "hello")
    await ada.hears("answer to hello")
    assert mallory.heard() == []
    assert len(model.requests) == 1


async def test_an_empty_list_lets_nobody_in(
    gateway: Gateway, enter: Any, model: ScriptedServer
) -> None:
    gateway.configure(allow=[])
    ada = await enter("ada")
    gateway.start()
    await ada.reaches("hermes")
    ada.say("hermes", "hello")
    assert await asyncio.to_thread(gateway.end) == 0
    assert ada.heard() == []
    assert model.requests == []


async def test_a_long_answer_arrives_whole_and_in_order(
    gateway: Gateway, enter: Any, script: list[Any]
) -> None:
    lines = [f"line {number} " + "Grüße 你好 " * 60 for number in range(20)]
    script[0] = lambda request: replies.say("\n".join(lines))
    ada = await enter("ada")
    gateway.start()
    await ada.reaches("hermes")
    ada.say("hermes", "go")
    await ada.sees(" PRIVMSG ", "line 19 ")
    await ada.hears("你好", count=20 * 3)
    while " ".join("".join(ada.heard()).split()).count("你好") < 20 * 60:
        await asyncio.sleep(0)
    together = " ".join(ada.heard())
    assert together.split() == " ".join(lines).split()
    assert all(len(line.encode()) <= 510 for line in ada.lines)


async def test_an_answer_cannot_inject_a_command(
    gateway: Gateway, enter: Any, script: list[Any]
) -> None:
    evil = "fine\r\nQUIT :gone\nJOIN #evil\rNICK evil\0PART #garden\nend"
    script[0] = lambda request: replies.say(evil)
    ada = await enter("ada")
    gateway.start()
    await ada.reaches("hermes")
    ada.say("hermes", "go")
    await ada.hears("end")
    heard = ada.heard()
    assert heard[:3] == ["fine", "QUIT :gone", "JOIN #evil"]
    assert heard[-1] == "end"
    await ada.reaches("hermes", seconds=5)


async def test_it_comes_back_after_the_server_was_restarted(
    gateway: Gateway, ngircd: Any, enter: Any
) -> None:
    ada = await enter("ada")
    gateway.start()
    await ada.reaches("hermes")
    ngircd.stop()
    ngircd.start()
    again = await enter("ada")
    await again.reaches("hermes")
    again.say("hermes", "still there?")
    await again.hears("answer to still there?")


async def test_a_nick_that_is_taken_gets_another_end(gateway: Gateway, enter: Any) -> None:
    await enter("hermes")
    ada = await enter("ada")
    gateway.start()
    await ada.reaches("hermes_")
    ada.say("hermes_", "hello")
    await ada.hears("answer to hello")


async def test_what_waits_while_a_turn_runs_is_answered_in_order(
    gateway: Gateway, enter: Any
) -> None:
    ada = await enter("ada")
    gateway.start()
    await ada.reaches("hermes")
    for number in range(10):
        ada.say("hermes", f"q{number}")
    await ada.hears("answer to q9")
    assert ada.heard() == [f"answer to q{number}" for number in range(10)]


async def test_status_tells_how_each_platform_is_and_stop_ends_it(
    gateway: Gateway, enter: Any
) -> None:
    command = gateway.command
    ada = await enter("ada")
    gateway.start()
    await ada.reaches("hermes")
    told = await asyncio.to_thread(command.run, "gateway", "status", "--json")
    state = msgspec.json.decode(told.stdout)
    assert (told.status, state["running"]) == (0, True)
    assert state["last"]["platforms"]["irc"]["state"] == "running"
    second = await asyncio.to_thread(command.run, "gateway", "run")
    assert (second.status, "running already" in second.err) == (2, True)
    ended = await asyncio.to_thread(command.run, "gateway", "stop")
    assert (ended.status, ended.out) == (0, "The gateway has ended.\n")
    told = await asyncio.to_thread(command.run, "gateway", "status")
    assert told.status == 3
    assert told.out.startswith("Not running; ended ")
    assert "irc: stopped" in told.out
