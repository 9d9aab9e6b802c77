"""Builds every wheel of this repository, and collects the wheels that they need.

``python scripts/build_wheels.py`` fills dist/ and wheelhouse/, so that
``pip install --no-index --find-links dist --find-links wheelhouse 'hermes-host[default]'`` works on a
machine without a network. A wheelhouse that is already complete is left as it is.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENT = "hermes-host[all]"


def projects() -> list[Path]:
    """The folders of all distributions: the host, then the built-in plugins by name."""
    return [ROOT, *sorted(path.parent for path in ROOT.glob("plugins-builtin/*/pyproject.toml"))]


def build_wheels(dist: Path) -> list[Path]:
    """Build one wheel a project with the hatchling of this environment; old ones of ours go.

    Raises:
        SystemExit: a build fails; its output says why.
    """
    dist.mkdir(parents=True, exist_ok=True)
    for old in _ours(dist):
        old.unlink()
    for project in projects():
        _run(["-m", "hatchling", "build", "-t", "wheel", "-d", str(dist)], cwd=project)
    return _ours(dist)


def collect_dependencies(dist: Path, wheelhouse: Path) -> None:
    """Download what the wheels in ``dist`` need, at the pinned versions, as wheels.

    Raises:
        SystemExit: something cannot be had as a wheel.
    """
    wheelhouse.mkdir(parents=True, exist_ok=True)
    pinned = ["-c", str(ROOT / "constraints.txt"), "--only-binary", ":all:"]
    places = ["--find-links", str(dist), "--find-links", str(wheelhouse)]
    download = ["-m", "pip", "download", "--quiet", *pinned, *places, "-d", str(wheelhouse)]
    complete = subprocess.run(
        [sys.executable, *download, "--no-index", REQUIREMENT], capture_output=True, check=False
    )
    if complete.returncode:
        _run([*download, REQUIREMENT], cwd=ROOT)
    for copy in _ours(wheelhouse):
        copy.unlink()


def _ours(folder: Path) -> list[Path]:
    names = {project.name for project in projects()[1:]} | {"hermes-host"}
    return sorted(
        wheel
        for wheel in folder.glob("*.whl")
        if wheel.name.partition("-")[0].replace("_", "-") in names
    )


def _run(arguments: Iterable[str], *, cwd: Path) -> None:
    ended = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if ended.returncode:
        sys.exit(f"{ended.stdout}\n{cwd.name}: {' '.join(arguments)} failed.")


def main() -> None:
    """Build, collect, and say what came of it."""
    parser = argparse.ArgumentParser(description="Build every wheel and collect what they need.")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    parser.add_argument("--wheelhouse", type=Path, default=ROOT / "wheelhouse")
    options = parser.parse_args()
    built = build_wheels(options.dist)
    collect_dependencies(options.dist, options.wheelhouse)
    collected = len(list(options.wheelhouse.glob("*.whl")))
    print(f"{len(built)} wheels in {options.dist}, {collected} they need in {options.wheelhouse}")


if __name__ == "__main__":
    main()
