"""A machine on which nothing is set up: no local server answers, and there is no other home."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path

import pytest

from hermes_plugins.testing import Command
from hermes_plugins.testing._terminal import Terminal

NOWHERE = "http://127.0.0.1:9/v1"
"""Port 9, discard: nothing listens there."""
VENDORS = [
    line.partition(";")[0].strip().removeprefix("hermes-plugin-")
    for line in requires("hermes-host") or []
    if "vendors" in line.partition(";")[2]
]
"""Off, so that what is listed does not grow with every vendor."""
_numbers = itertools.count()


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's folder, empty."""
    person = tmp_path / "person"
    person.mkdir()
    monkeypatch.setenv("HOME", str(person))
    monkeypatch.setenv("USERPROFILE", str(person))
    for name in ("OLLAMA", "LMSTUDIO", "VLLM", "LLAMACPP"):
        monkeypatch.setenv(f"{name}_BASE_URL", NOWHERE)
    monkeypatch.setenv("HERMES_PLUGINS__DISABLED", json.dumps(VENDORS))
    return person


@pytest.fixture
def settings(hermes_home: Path) -> Path:
    """hermes.yaml, not there yet; its folder is."""
    hermes_home.mkdir(exist_ok=True)
    return hermes_home / "hermes.yaml"


@pytest.fixture
def terminal(command: Command) -> Iterator[Terminal]:
    terminal = Terminal(command, f"hermes-setup-{os.getpid()}-{next(_numbers)}")
    yield terminal
    terminal.close()
