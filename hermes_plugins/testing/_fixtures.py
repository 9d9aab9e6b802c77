"""Fixtures that isolate a test: its own home, its own environment, no network but loopback."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_plugins.testing._command import Command
from hermes_plugins.testing._server import ScriptedServer

_SECRET_ENDINGS = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD")


@pytest.fixture
def anyio_backend() -> str:
    """Async tests run on asyncio, which is what the host runs on."""
    return "asyncio"


@pytest.fixture(autouse=True)
def hermes_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own; keys and settings of the developer's environment are out of sight."""
    home = tmp_path / "home"
    for name in list(os.environ):
        if name.startswith("HERMES_") or name.upper().endswith(_SECRET_ENDINGS):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HERMES_HOME", str(home))
    return home


@pytest.fixture(autouse=True)
def no_outside_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connecting anywhere but to loopback is an error that names the address."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            host = str(address[0]) if isinstance(address, tuple) else str(address)
            if host != "localhost" and not ipaddress.ip_address(host.split("%")[0]).is_loopback:
                raise OSError(f"a test tried to reach {host}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def model_server() -> Iterator[ScriptedServer]:
    """A scripted OpenAI-compatible server that is listening; give it replies with ``script()``."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def command(hermes_home: Path, tmp_path: Path) -> Command:
    """The ``hermes`` command, each call a process of its own, on this test's home."""
    folder = tmp_path / "folder"
    folder.mkdir()
    return Command(hermes_home, folder)
