"""What pip installs: the built wheels, in an environment of their own, outside the repository.

Needs the package registry, unless wheelhouse/ is full already (`make dist`).
"""

from __future__ import annotations

import json
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_core import __version__

ROOT = Path(__file__).resolve().parent.parent.parent
PROJECTS = [ROOT, *sorted(path.parent for path in ROOT.glob("plugins-builtin/*/pyproject.toml"))]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "optional-dependencies"
]
DEFAULT = {name for name in EXTRAS["default"] if name.startswith("hermes-plugin-")}

pytestmark = pytest.mark.xdist_group("packaging")

Run = Callable[..., str]


def wheel_of(dist: Path, project: Path) -> zipfile.ZipFile:
    name = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]["name"]
    (wheel,) = dist.glob(f"{name.replace('-', '_')}-*.whl")
    return zipfile.ZipFile(wheel)


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.name)
def test_a_wheel_holds_every_file_of_its_packages_and_nothing_else(
    dist: Path, project: Path
) -> None:
    facts = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))
    packages = facts["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    expected = {
        path.relative_to(project).as_posix()
        for package in packages
        for path in (project / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with wheel_of(dist, project) as wheel:
        inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
        licenses = [name for name in wheel.namelist() if name.endswith("/licenses/LICENSE")]
    assert inside == expected
    assert len(licenses) == 1


def test_the_hosts_wheel_has_its_data_files(dist: Path) -> None:
    with wheel_of(dist, ROOT) as wheel:
        names = set(wheel.namelist())
    assert {
        "hermes_core/store/schema.sql",
        "hermes_core/py.typed",
        "hermes_plugins/py.typed",
        "hermes_plugins/template/shared/pyproject.toml.tmpl",
        "hermes_plugins/template/tools/__init__.py.tmpl",
    } <= names


def test_the_extra_all_names_every_built_in_plugin() -> None:
    named = {name for name in EXTRAS["all"] if name.startswith("hermes-plugin-")}
    assert named | DEFAULT | set(EXTRAS["vendors"]) == {project.name for project in PROJECTS[1:]}


def test_a_fresh_environment_has_the_command_and_its_version(
    run: Run, installed: Path, tmp_path: Path
) -> None:
    assert run([installed / "hermes", "--version"], cwd=tmp_path) == f"hermes {__version__}\n"


def test_a_fresh_environment_has_every_default_plugin_on(
    run: Run, installed: Path, tmp_path: Path
) -> None:
    told = run([installed / "hermes", "plugins", "list", "--json"], cwd=tmp_path)
    states = {row["distribution"]: row["state"] for row in json.loads(told)}
    assert states == dict.fromkeys(DEFAULT, "on")


def test_a_fresh_environment_answers_a_question_with_a_tool(
    run: Run, installed: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "notes.txt").write_text("the kettle is on\n", encoding="utf-8")
    question = ["chat", "--provider", "offline", "-q", "read notes.txt"]
    assert "the kettle is on" in run([installed / "hermes", *question], cwd=folder)
