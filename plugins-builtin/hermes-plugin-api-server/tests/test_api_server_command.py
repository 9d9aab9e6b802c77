"""The server as its owner starts it: what is missing is said, the example works, stopping is gentle."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from hermes_plugins.testing import ScriptedServer, replies
from hermes_plugins.testing._command import Command, finish

KEY = "sk-test-not-a-real-key"
EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "api_client.py"


@pytest.fixture
def command(hermes_home: Path, tmp_path: Path) -> Command:
    folder = tmp_path / "folder"
    folder.mkdir()
    command = Command(hermes_home, folder)
    assert command.run("config", "set", "platforms.api-server.enabled", "true").status == 0
    return command


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@contextmanager
def running(command: Command, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """The gateway, once the server answers."""
    assert command.run("config", "set", "API_SERVER_KEY", KEY).status == 0
    assert command.run("config", "set", "plugins.api-server.port", str(port)).status == 0
    process = command.start("gateway", "run")
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and process.poll() is None:
            try:
                httpx.get(f"http://127.0.0.1:{port}/health", trust_env=False)
                break
            except httpx.TransportError:
                time.sleep(0.02)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


@pytest.mark.parametrize(
    ("key", "told"), [("", "none is set"), ("hunter2", "its key has 7"), (" " * 20, "none is set")]
)
def test_without_a_key_it_says_which_command_sets_one(
    command: Command, key: str, told: str
) -> None:
    ended = command.run("gateway", "run", environ={"API_SERVER_KEY": key})
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == (
        "hermes: no enabled platform can be started: "
        f"the API server needs a key of 16 or more characters; {told}.\n"
        "        `openssl rand -hex 24 | hermes config set API_SERVER_KEY`\n"
    )


def test_the_example_asks_and_prints_the_answer_and_the_status_tells_of_it(
    command: Command,
) -> None:
    with taken_port() as port:
        pass
    with ScriptedServer(then=replies.say("Two things: milk, and Ada.", split=5)) as model:
        command.talks_to(model)
        with running(command, port) as gateway:
            status = command.run("gateway", "status")
            done = subprocess.run(
                [sys.executable, str(EXAMPLE), "What do I have to do?"],
                env={
                    **os.environ,
                    "API_SERVER_KEY": KEY,
                    "API_SERVER_URL": f"http://127.0.0.1:{port}/v1",
                    "NO_PROXY": "127.0.0.1",
                },
                capture_output=True,
                encoding="utf-8",
                timeout=60,
                check=False,
            )
            listed = command.run("sessions", "list")
            gateway.send_signal(signal.SIGTERM)
            ended = finish(gateway)
    assert (done.returncode, done.stdout) == (0, "Two things: milk, and Ada.\n"), done.stderr
    assert "  api-server: running since " in status.out
    assert "What do I have to do?" in listed.out
    assert ended.status == 0
    assert KEY not in ended.err
    assert ".allow is empty" not in ended.err
    log = (command.home / "logs" / "hermes.log").read_text(encoding="utf-8")
    assert f"listens on 127.0.0.1:{port}" in log
    assert KEY not in log


def test_a_port_that_is_taken_is_told_on_the_terminal_and_in_the_status(command: Command) -> None:
    assert command.run("config", "set", "API_SERVER_KEY", KEY).status == 0
    with taken_port() as port:
        assert command.run("config", "set", "plugins.api-server.port", str(port)).status == 0
        gateway = command.start("gateway", "run")
        assert gateway.stderr is not None
        lines = [gateway.stderr.readline().decode(), gateway.stderr.readline().decode()]
        status = command.run("gateway", "status")
        gateway.send_signal(signal.SIGTERM)
        finish(gateway)
    (told,) = [line for line in lines if "fell" in line]
    assert f"127.0.0.1:{port} cannot be listened on: Address already in use." in told
    assert "`hermes config set plugins.api-server.port 8643`" in told
    assert "cannot be listened on" in status.out
