"""Wheels of this repository and environments made from them; for the whole run, each once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from venv import EnvBuilder

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
_SECRETS = ("_API_KEY", "_TOKEN")


def _run(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    variables: dict[str, str] | None = None,
) -> str:
    """Run a program without keys in its environment; standard output when it succeeds."""
    kept = {k: v for k, v in os.environ.items() if not k.upper().endswith(_SECRETS)}
    kept.pop("PYTHONPATH", None)
    ended = subprocess.run(
        command,
        cwd=cwd,
        env={**kept, **(variables or {})},
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    assert ended.returncode == 0, f"{command}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


def _programs(venv: Path) -> Path:
    return venv / ("Scripts" if os.name == "nt" else "bin")


def _pip(venv: Path) -> list[str | Path]:
    return [sys.executable, "-m", "pip", "--python", venv, "install", "--quiet"]


@pytest.fixture(scope="session")
def run() -> Callable[..., str]:
    """``run(command, cwd=…, variables=…)``."""
    return _run


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make dist` collected, or a place for it."""
    kept = ROOT / "wheelhouse"
    return kept if kept.is_dir() else tmp_path_factory.mktemp("wheelhouse")


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory, wheelhouse: Path) -> Path:
    """Every wheel of the repository, built now, and the wheelhouse full."""
    folder = tmp_path_factory.mktemp("dist")
    script = ROOT / "scripts" / "build_wheels.py"
    _run([sys.executable, script, "--dist", folder, "--wheelhouse", wheelhouse], cwd=ROOT)
    return folder


@pytest.fixture(scope="session")
def installed(dist: Path, wheelhouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment with ``hermes-host[default]`` from the wheels alone."""
    venv = tmp_path_factory.mktemp("installed") / "venv"
    EnvBuilder(with_pip=False, symlinks=os.name != "nt").create(venv)
    places = ["--no-index", "--find-links", dist, "--find-links", wheelhouse]
    _run([*_pip(venv), *places, "hermes-host[default]"], cwd=venv.parent)
    return _programs(venv)


@pytest.fixture(scope="session")
def workshop(dist: Path, wheelhouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment as a plugin's author has it: pip, pytest and the build tools."""
    venv = tmp_path_factory.mktemp("workshop") / "venv"
    EnvBuilder(with_pip=False, symlinks=os.name != "nt").create(venv)
    places = ["--find-links", dist, "--find-links", wheelhouse, "-c", ROOT / "constraints.txt"]
    wanted = ["hermes-host[default]", "pip", "pytest", "hatchling", "editables"]
    _run([*_pip(venv), *places, *wanted], cwd=venv.parent)
    return _programs(venv)
