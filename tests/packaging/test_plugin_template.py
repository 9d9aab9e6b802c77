"""`hermes plugins new` as an author meets it: write, install, test, find it off, switch it on."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_core.cli.plugin_new import KINDS, write_plugin
from hermes_plugins import UsageError

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"

pytestmark = pytest.mark.xdist_group("packaging")

Run = Callable[..., str]


def state_of(run: Run, hermes: Path, name: str, cwd: Path) -> dict[str, object]:
    rows = json.loads(run([hermes, "plugins", "list", "--json"], cwd=cwd))
    return {str(row["name"]): row for row in rows}[name]


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plugin_installs_passes_its_tests_and_can_be_switched_on(
    run: Run, workshop: Path, tmp_path: Path, kind: str
) -> None:
    hermes, python = workshop / "hermes", workshop / "python"
    name = f"sample-{kind}"
    run([hermes, "plugins", "new", name, "--kind", kind], cwd=tmp_path)
    made = tmp_path / f"hermes-plugin-{name}"
    # The build tools are there already, so nothing is fetched for it.
    pip = [python, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-index"]
    run([*pip, "-e", f"{made}[test]"], cwd=tmp_path)

    assert " passed" in run([python, "-m", "pytest", "--no-header"], cwd=made)

    assert state_of(run, hermes, name, tmp_path)["state"] == "off"
    run([hermes, "plugins", "enable", name], cwd=tmp_path)
    row = state_of(run, hermes, name, tmp_path)
    assert (row["state"], row["reason"]) == ("on", "")
    assert row["needs_host"] == ">=0.1"


@pytest.mark.parametrize("kind", KINDS)
def test_no_placeholder_is_left_in_what_is_written(tmp_path: Path, kind: str) -> None:
    made = write_plugin("weather", kind, tmp_path)
    texts = {path: path.read_text("utf-8") for path in made.rglob("*") if path.is_file()}
    assert [path for path, text in texts.items() if "{{" in text or "}}" in text] == []
    assert {path.name for path in texts} >= {
        "pyproject.toml",
        "README.md",
        ".gitignore",
        "__init__.py",
        "py.typed",
        "test_weather.py",
    }


def test_a_name_with_dashes_becomes_a_module_with_underscores(tmp_path: Path) -> None:
    made = write_plugin("air-quality", "tools", tmp_path)
    assert made == tmp_path / "hermes-plugin-air-quality"
    assert (made / "hermes_plugin_air_quality" / "__init__.py").is_file()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Weather", "`hermes plugins new weather` would do"),
        ("air_quality", "`hermes plugins new air-quality` would do"),
        ("../weather", "is no plugin name"),
        ("", "is no plugin name"),
        ("7up", "is no plugin name"),
        ("a--b", "is no plugin name"),
        ("x" * 41, "is no plugin name"),
        ("hermes-plugin-weather", "`hermes plugins new weather` adds it"),
        ("enabled", "a setting of its own"),
    ],
)
def test_a_name_that_cannot_be_one_is_refused_and_nothing_is_written(
    tmp_path: Path, name: str, words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        write_plugin(name, "tools", tmp_path)
    assert words in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "hermes-plugin-weather"
    mine.mkdir()
    (mine / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="is there already"):
        write_plugin("weather", "tools", tmp_path)
    assert [path.name for path in mine.iterdir()] == ["mine.txt"]


def test_an_unknown_kind_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="policy, lifecycle, command"):
        write_plugin("weather", "toys", tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_it_depends_on_the_host_and_a_provider_on_its_dialect_too(
    tmp_path: Path, kind: str
) -> None:
    made = write_plugin("weather", kind, tmp_path)
    needs = tomllib.loads((made / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    dialect = ["hermes-plugin-chat-completions>=0.1"] if kind == "provider" else []
    assert needs == ["hermes-host>=0.1", *dialect]
