"""kill -9 of the gateway under a chat load: every message is answered once, or its sender is told."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes_core.clock import SystemClock
from hermes_plugins.testing import ScriptedServer, replies
from hermes_plugins.testing._command import Command
from hermes_plugins.testing._server import ScriptedRequest

PEOPLE = ("ada", "bob", "cleo")
LINES = 3
"""Messages of an answer, so that a kill can fall between them."""


def answer(request: ScriptedRequest) -> replies.Reply:
    asked = [str(one["content"]) for one in request.messages if one["role"] == "user"][-1]
    return replies.say("\n".join(f"part{part} {asked}." for part in range(LINES)), split=20)


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer) as server:
        yield server


@pytest.mark.parametrize(
    "kills", [10, pytest.param(200, marks=pytest.mark.slow)], ids=lambda n: f"{n}-kills"
)
async def test_every_message_is_answered_once_or_its_sender_is_told(
    kills: int, hermes_home: Path, tmp_path: Path, model: ScriptedServer, ngircd: Any, enter: Any
) -> None:
    command = Command(hermes_home, tmp_path)
    command.talks_to(model)
    _configure(hermes_home, ngircd.port)
    seed = int(os.environ.get("HERMES_TEST_SEED", "0")) or random.randrange(10**6)
    chance, clock = random.Random(seed), SystemClock()
    people = [await enter(nick) for nick in PEOPLE]
    sent: dict[str, tuple[Any, int]] = {}
    errors = (tmp_path / "gateway.err").open("ab")
    process: subprocess.Popen[bytes] | None = None
    for number in range(kills + 1):
        process = command.start("gateway", "run", stdout=subprocess.DEVNULL, stderr=errors)
        await people[0].reaches("hermes")
        if number == 0:  # everybody is known before the first kill
            for person in people:
                person.say("hermes", "hello")
                await person.hears(f"part{LINES - 1} hello.")
        until = clock.monotonic() + chance.uniform(0.0, 1.2)
        while clock.monotonic() < until or not sent:
            person = chance.choice(people)
            question = f"q{len(sent)}-{person.nick}"
            sent[question] = (person, len(person.lines))
            person.say("hermes", question)
            await clock.sleep(chance.uniform(0.0, 0.06))
        if number < kills:
            process.kill()
            process.wait()
    await _settled(command, people, clock)
    assert process is not None
    process.terminate()
    assert process.wait(timeout=60) == 0
    errors.close()
    accepted = _accepted(hermes_home)
    wrong = [
        f"{question}: {problem}"
        for question, (person, since) in sent.items()
        if (problem := _problem(person, question, since, is_accepted=question in accepted))
    ]
    assert wrong == [], f"seed {seed}, {len(sent)} messages, {len(accepted)} accepted"

    answered = sum(
        _parts(person, question) == [1] * LINES for question, (person, _) in sent.items()
    )
    assert answered >= len(accepted) / 2


def _configure(home: Path, port: int) -> None:
    irc = {"server": "127.0.0.1", "port": port, "tls": False}
    allow = [f"{nick}!*" for nick in PEOPLE]
    platform = {"enabled": True, "allow": allow, "per_second": 1000}
    home.mkdir(exist_ok=True)
    text = msgspec.json.encode({"platforms": {"irc": platform}, "plugins": {"irc": irc}})
    (home / "hermes.yaml").write_bytes(text)  # JSON is YAML


async def _settled(command: Command, people: list[Any], clock: SystemClock) -> None:
    """Until nothing is left to answer or to send, and people have heard it."""
    for person in people:
        person.say("hermes", f"last-{person.nick}")
    for person in people:
        await person.hears(f"part{LINES - 1} last-{person.nick}.")
    async with clock.timeout(60):
        while True:
            told = await asyncio.to_thread(command.run, "gateway", "status", "--json")
            platform = msgspec.json.decode(told.stdout)["last"]["platforms"]["irc"]
            if (platform["unanswered"], platform["unsent"]) == (0, 0):
                return
            await clock.sleep(0.5)


def _parts(person: Any, question: str) -> list[int]:
    return [person.heard().count(f"part{part} {question}.") for part in range(LINES)]


def _accepted(home: Path) -> set[str]:
    """What the gateway had committed."""
    connection = sqlite3.connect(home / "state.db")
    rows = connection.execute("SELECT body FROM inbound").fetchall()
    connection.close()
    return {msgspec.json.decode(body)["text"] for (body,) in rows}


def _problem(person: Any, question: str, since: int, *, is_accepted: bool) -> str:
    """What is wrong with what this person got for a message; "" when nothing is.

    Who is told of a message that was accepted is told of this one; of one that never arrived, that
    something may be missing, or by the server that nobody of that name is there.
    """
    parts = _parts(person, question)
    if max(parts) > 1:
        return f"came twice: {parts}"
    if min(parts) == 1:
        return ""
    later = person.lines[since:]
    of_this = [line for line in later if question in line and "tell whether" in line]
    of_any = [line for line in later if " 401 " in line or "cut off and am back" in line]
    return "" if of_this or (of_any and not is_accepted) else f"lost: {parts}, {is_accepted=}"
