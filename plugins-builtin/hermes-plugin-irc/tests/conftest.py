"""A real IRC server on loopback (ngircd), and people on it."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import pytest

from hermes_core.clock import SystemClock

PROGRAM = shutil.which("ngircd", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
LONG = 60.0

CONFIG = """\
[Global]
Name = irc.test
Info = a server for tests
Listen = 127.0.0.1
Ports = {port}
MotdPhrase = hello
[Limits]
MaxConnectionsIP = 0
MaxJoins = 0
MaxPenaltyTime = 0
[Options]
Ident = no
PAM = no
DNS = no
"""


class Server:
    """ngircd in the foreground."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._config = folder / "ngircd.conf"
        self._config.write_text(CONFIG.format(port=self.port), encoding="utf-8")
        self._log = folder / "ngircd.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [str(PROGRAM), "-n", "-f", str(self._config)], stdout=log, stderr=log
            )

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class Person:
    """Somebody with a nick; notes every line that arrives."""

    def __init__(self, nick: str) -> None:
        self.nick = nick
        self.lines: list[str] = []
        self._present: list[str] | None = None
        self._changed = asyncio.Condition()

    async def connect(self, port: int) -> None:
        clock = SystemClock()
        async with clock.timeout(LONG):
            while True:
                with suppress(OSError):
                    self._reader, self._writer = await asyncio.open_connection("127.0.0.1", port)
                    break
                await clock.sleep(0.05)
        self._task = asyncio.create_task(self._listen())
        self.write(f"NICK {self.nick}")
        self.write(f"USER {self.nick} 0 * :{self.nick}")
        await self.sees(" 001 ")

    async def close(self) -> None:
        self._writer.close()
        self._task.cancel()
        await asyncio.wait({self._task})

    def write(self, line: str) -> None:
        self._writer.write(line.encode() + b"\r\n")

    def say(self, target: str, text: str) -> None:
        self.write(f"PRIVMSG {target} :{text}")

    def heard(self, sender: str = "hermes") -> list[str]:
        """What somebody said to us, or in a channel that we are in."""
        return [
            line.partition(" PRIVMSG ")[2].partition(" :")[2]
            for line in self.lines
            if line.lower().startswith(f":{sender.lower()}") and " PRIVMSG " in line
        ]

    async def sees(self, *words: str, count: int = 1, seconds: float = LONG) -> None:
        """Wait until that many lines hold all the words."""

        def is_there() -> bool:
            found = [line for line in self.lines if all(word in line for word in words)]
            return len(found) >= count

        async with SystemClock().timeout(seconds), self._changed:
            await self._changed.wait_for(is_there)

    async def hears(self, text: str, *, count: int = 1, seconds: float = LONG) -> None:
        await self.sees(" PRIVMSG ", text, count=count, seconds=seconds)

    async def reaches(self, nick: str, *, seconds: float = LONG) -> None:
        """Wait until somebody of that nick is on the server."""
        clock = SystemClock()
        async with clock.timeout(seconds):
            while self._present != [nick]:
                self._present = None
                self.write(f"ISON {nick}")
                async with self._changed:
                    await self._changed.wait_for(lambda: self._present is not None)
                await clock.sleep(0.05)
            self._present = None

    async def _listen(self) -> None:
        while raw := await self._reader.readline():
            line = raw.decode("utf-8", "replace").rstrip("\r\n")
            if line.startswith("PING"):
                self.write("PONG" + line[4:])
            async with self._changed:
                if " 303 " in line:
                    self._present = line.partition(" :")[2].split()
                else:
                    self.lines.append(line)
                self._changed.notify_all()


Enter: TypeAlias = Callable[[str], Awaitable[Person]]


@pytest.fixture
def ngircd(tmp_path: Path) -> Iterator[Server]:
    if PROGRAM is None:
        pytest.skip("ngircd is not installed")
    server = Server(tmp_path)
    server.start()
    yield server
    server.stop()


@pytest.fixture
async def enter(ngircd: Server) -> AsyncIterator[Enter]:
    """Puts a person on the server."""
    people: list[Person] = []

    async def enter(nick: str) -> Person:
        person = Person(nick)
        await person.connect(ngircd.port)
        people.append(person)
        return person

    yield enter
    for person in people:
        await person.close()
