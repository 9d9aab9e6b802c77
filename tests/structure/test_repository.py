"""The repository as a whole: nothing of one machine in it, and every distribution complete."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PLUGINS = sorted(path.parent for path in ROOT.glob("plugins-builtin/*/pyproject.toml"))
BINARY = {".gz", ".png", ".jpg", ".gif", ".ico", ".db", ".whl"}
HOSTS = ("pypi.org", "pythonhosted.org", "registry.npmjs.org", "files.pythonhosted")
ALLOWED_HOSTS = {"tests/structure/test_repository.py": "the list itself"}
"""File -> why a package registry's name stands in it."""


def tracked_files() -> list[Path]:
    """What is in the repository; without git, what is in the folder and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        names = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    else:
        skipped = {".venv", ".venvs", ".git", "dist", "wheelhouse", "__pycache__"}
        names = [
            path
            for path in ROOT.rglob("*")
            if not skipped & set(path.parts) and not any("cache" in part for part in path.parts)
        ]
    return [path for path in names if path.is_file() and path.suffix not in BINARY]


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in tracked_files()
    }


def test_no_file_names_a_folder_of_this_machine(texts: dict[str, str]) -> None:
    # A folder such as /src or /usr/local is nobody's in particular.
    places = [
        str(place)
        for place in (ROOT, Path(sys.prefix), Path(sys.base_prefix))
        if len(place.parts) > 2 and place.parts[1] not in ("usr", "opt")
    ]
    wrong = [
        f"{name}: {place}"
        for name, text in texts.items()
        for place in places
        if re.search(rf"{re.escape(place)}\b", text)
    ]
    assert wrong == []


def test_no_file_names_a_package_registry(texts: dict[str, str]) -> None:
    wrong = [
        f"{name}: {host}"
        for name, text in texts.items()
        for host in HOSTS
        if host in text and name not in ALLOWED_HOSTS
    ]
    assert wrong == []


def test_constraints_are_names_and_versions_only(texts: dict[str, str]) -> None:
    lines = [line for line in texts["constraints.txt"].splitlines() if not line.startswith("#")]
    assert lines == sorted(lines)
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9.-]+==[0-9][a-z0-9.]*", line)] == []


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda path: path.name)
def test_a_built_in_plugin_is_a_complete_distribution(folder: Path) -> None:
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    module = folder.name.replace("-", "_")
    assert project["name"] == folder.name
    assert project["license"] == "MIT"
    assert any(need.startswith("hermes-host>=") for need in project["dependencies"])
    assert (folder / module / "__init__.py").is_file()
    assert (folder / module / "py.typed").is_file()
    assert (folder / "LICENSE").read_text("utf-8") == (ROOT / "LICENSE").read_text("utf-8")
    assert (folder / "README.md").read_text("utf-8").startswith(f"# {folder.name}\n")
    assert list((folder / "tests").glob("test_*.py"))
    targets = [
        target
        for group, points in project["entry-points"].items()
        if group.startswith("hermes.")
        for target in points.values()
    ]
    assert targets
    assert {target.partition(":")[0].partition(".")[0] for target in targets} == {module}


def test_test_files_have_different_names(texts: dict[str, str]) -> None:
    names = [Path(name).name for name in texts if Path(name).name.startswith("test_")]
    assert sorted(names) == sorted(set(names))
