"""Installing and removing plugins with pip and uv, from an index that is a folder of wheels."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from hermes_core.cli.installer import Installer, find_installer
from hermes_core.cli.plugin_install import (
    about,
    distribution_name,
    install_distribution,
    uninstall_distribution,
)
from hermes_core.cli.plugin_new import write_plugin
from hermes_plugins import HermesError, Paths, UsageError

pytestmark = pytest.mark.xdist_group("packaging")

Run = Callable[..., str]


def write_wheel(index: Path, name: str, number: str, *needs: str, plugin: bool = True) -> None:
    """A wheel with one empty module, such as a package index would serve."""
    module = name.replace("-", "_")
    info = f"{module}-{number}.dist-info"
    facts = [f"Name: {name}", f"Version: {number}", "Summary: Says hello", "Author: Ada Example"]
    facts += [f"Requires-Dist: {need}" for need in needs]
    with zipfile.ZipFile(index / f"{module}-{number}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{module}/__init__.py", "")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\n" + "\n".join(facts) + "\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        if plugin:
            wheel.writestr(f"{info}/entry_points.txt", f"[hermes.tools]\nhello = {module}\n")
        wheel.writestr(f"{info}/RECORD", "")


def write_project(folder: Path, index: Path) -> Path:
    """A folder that is built, without anything to download, into the wheel that the index has."""
    folder.mkdir()
    wheel = index / "hermes_plugin_hello-1.0-py3-none-any.whl"
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "Hermes_Plugin_Hello"\nversion = "1.0"\n',
        encoding="utf-8",
    )
    (folder / "backend.py").write_text(
        "import shutil\n\n"
        "def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):\n"
        f"    shutil.copy({str(wheel)!r}, wheel_directory)\n"
        f"    return {wheel.name!r}\n",
        encoding="utf-8",
    )
    return folder


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels: all that pip and uv know of in this test."""
    folder = tmp_path / "index"
    folder.mkdir()
    for tool in ("PIP", "UV"):
        monkeypatch.setenv(f"{tool}_NO_INDEX", "1")
        monkeypatch.setenv(f"{tool}_FIND_LINKS", str(folder))
    write_wheel(folder, "hermes-plugin-hello", "1.0")
    return folder


@pytest.fixture
def paths(hermes_home: Path) -> Paths:
    return Paths(home=hermes_home, cache=hermes_home / "cache", logs=hermes_home / "logs")


@pytest.fixture
def system_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This interpreter looks like one that belongs to the system (PEP 668)."""
    stdlib = tmp_path / "stdlib"
    stdlib.mkdir()
    (stdlib / "EXTERNALLY-MANAGED").write_text("[externally-managed]\n", encoding="utf-8")
    real = sysconfig.get_path
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr(
        sysconfig, "get_path", lambda name: str(stdlib) if name == "stdlib" else real(name)
    )


# -- as a user meets it, in an environment of its own -----------------------------------


def test_a_plugin_is_installed_shown_switched_on_and_removed(
    run: Run, workshop: Path, tmp_path: Path
) -> None:
    made = write_plugin("packed", "tools", tmp_path)
    build = ["-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "index")]
    run([sys.executable, *build], cwd=made)
    variables = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "index")}
    hermes = workshop / "hermes"
    plugins = [hermes, "plugins"]

    told = run([*plugins, "install", "hermes-plugin-packed"], cwd=tmp_path, variables=variables)
    assert "Installed hermes-plugin-packed 0.1.0 into this environment." in told
    assert "  about: Tools for Hermes, author not told" in told
    assert "packed_count" in told or "tools:packed" in told
    assert "`hermes plugins enable packed` switches it on" in told

    told = run(
        [*plugins, "install", "hermes-plugin-packed", "--yes"], cwd=tmp_path, variables=variables
    )
    assert "packed is on." in told
    rows = json.loads(run([*plugins, "list", "--json"], cwd=tmp_path))
    assert {row["name"]: row["state"] for row in rows}["packed"] == "on"

    run([*plugins, "uninstall", "hermes-plugin-packed"], cwd=tmp_path)
    rows = json.loads(run([*plugins, "list", "--json"], cwd=tmp_path))
    assert "packed" not in {row["name"] for row in rows}


# -- an environment that is not ours to change -----------------------------------------


@pytest.mark.usefixtures("system_python")
def test_where_nothing_may_be_installed_it_goes_into_the_home_with_what_it_needs(
    index: Path, paths: Paths
) -> None:
    write_wheel(index, "greeting-words", "2.0", plugin=False)
    write_wheel(index, "hermes-plugin-hello", "1.1", "greeting-words>=2", "click>=8")
    folder = paths.home / "plugins" / "hermes-plugin-hello"

    assert install_distribution("hermes-plugin-hello", paths) == f"into {folder}"

    names = {path.name for path in folder.iterdir() if path.is_dir()}
    assert {"hermes_plugin_hello", "greeting_words"} <= names
    assert "click" not in names
    assert about("hermes-plugin-hello", paths) == "Says hello, Ada Example"
    assert [path.name for path in folder.parent.iterdir()] == ["hermes-plugin-hello"]

    write_wheel(index, "hermes-plugin-hello", "1.2", "greeting-words>=2")
    install_distribution("hermes-plugin-hello==1.2", paths)
    assert (folder / "hermes_plugin_hello-1.2.dist-info").is_dir()
    assert not (folder / "hermes_plugin_hello-1.1.dist-info").exists()

    uninstall_distribution("hermes-plugin-hello", paths)
    assert not folder.exists()


@pytest.mark.usefixtures("system_python")
def test_what_stands_in_the_systems_environment_is_not_removed(paths: Paths) -> None:
    with pytest.raises(UsageError, match=r"cannot be written.*plugins disable todo"):
        uninstall_distribution("hermes-plugin-todo", paths)


# -- refusals: nothing is changed ------------------------------------------------------


def test_a_plugin_that_would_replace_what_is_there_is_refused(index: Path, paths: Paths) -> None:
    have = version("iniconfig")
    write_wheel(index, "iniconfig", "0.1", plugin=False)
    write_wheel(index, "hermes-plugin-hello", "1.1", "iniconfig<1")
    with pytest.raises(UsageError, match=rf"would replace iniconfig {have} by 0\.1"):
        install_distribution("hermes-plugin-hello", paths)
    assert version("iniconfig") == have


def test_a_name_that_no_index_knows_is_told_with_the_installers_words(
    index: Path, paths: Paths
) -> None:
    with pytest.raises(HermesError, match="hermes-plugin-unheard-of"):
        install_distribution("hermes-plugin-unheard-of", paths)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("weather", "hermes plugins install hermes-plugin-weather"),
        ("https://index.example/hermes-plugin-x.whl", "is not the name of a distribution"),
        ("hermes-plugin-x @ https://index.example/x.whl", "is not the name of a distribution"),
        ("git+ssh://host/x", "is not the name of a distribution"),
        ("--index-url=https://index.example", "is not the name of a distribution"),
        ("-r", "is not the name of a distribution"),
        ("hermes-plugin-x; rm -rf .", "is not the name of a distribution"),
        ("hermes-plugin-x hermes-plugin-y", "is not the name of a distribution"),
        ("hermes-plugin-x\n--pre", "is not the name of a distribution"),
        ("", "is not the name of a distribution"),
        ("./not-there", "there is no folder"),
    ],
)
def test_only_a_full_name_or_a_folder_is_installed(
    index: Path, paths: Paths, asked: str, words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        install_distribution(asked, paths)
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["hermes-host", "click", "hermes-plugin-unheard-of"])
def test_only_an_installed_plugin_is_removed(paths: Paths, name: str) -> None:
    with pytest.raises(UsageError, match=r"is no plugin|is not installed"):
        uninstall_distribution(name, paths)
    assert name == "hermes-plugin-unheard-of" or version(name)


def test_neither_pip_nor_uv_is_told_with_the_command_that_helps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=r"neither pip nor uv.*ensurepip"):
        find_installer()


def test_a_pip_in_the_working_directory_is_not_run(
    index: Path, paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = tmp_path / "work"
    hostile.mkdir()
    (hostile / "pip.py").write_text("open('ran', 'w').close()\n", encoding="utf-8")
    monkeypatch.chdir(hostile)
    find_installer().plan("hermes-plugin-hello", name="hermes-plugin-hello")
    assert not (hostile / "ran").exists()


# -- the same plan from both installers ------------------------------------------------


def uv() -> Installer:
    found = shutil.which("uv")
    if not found or subprocess.run([found, "--version"], capture_output=True).returncode:
        pytest.skip("uv is not installed")
    return Installer(command=(found, "pip"), is_pip=False)


@pytest.mark.parametrize("choose", [find_installer, uv], ids=["pip", "uv"])
def test_the_plan_names_what_was_asked_for_and_what_comes_along(
    index: Path, choose: Callable[[], Installer]
) -> None:
    write_wheel(index, "Greeting_Words", "2.0", plugin=False)
    write_wheel(index, "hermes-plugin-hello", "1.1", "greeting-words", "click")
    installer = choose()
    plan = installer.plan("Hermes_Plugin_Hello>=1.1", name="hermes-plugin-hello")
    assert {(one.name, one.version, one.asked) for one in plan} == {
        ("hermes-plugin-hello", "1.1", True),
        ("greeting-words", "2.0", False),
    }


@pytest.mark.parametrize("choose", [find_installer, uv], ids=["pip", "uv"])
def test_the_plan_for_a_folder_names_what_stands_in_it(
    index: Path, tmp_path: Path, choose: Callable[[], Installer]
) -> None:
    folder = write_project(tmp_path / "project", index)
    plan = choose().plan(str(folder), name="hermes-plugin-hello")
    assert [(one.name, one.asked) for one in plan] == [("hermes-plugin-hello", True)]


@pytest.mark.usefixtures("system_python")
def test_a_folder_is_installed_by_the_name_in_its_pyproject(
    index: Path, paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_project(tmp_path / "project", index)
    monkeypatch.chdir(tmp_path)
    assert distribution_name("./project") == "hermes-plugin-hello"
    place = paths.home / "plugins" / "hermes-plugin-hello"
    assert install_distribution("./project", paths) == f"into {place}"
    assert (place / "hermes_plugin_hello" / "__init__.py").is_file()
    assert about("hermes-plugin-hello", paths) == "Says hello, Ada Example"


@pytest.mark.parametrize("text", [None, "[project\n", "[project]\n", "project = 1\n"])
def test_a_folder_that_names_no_distribution_is_refused(
    paths: Paths, tmp_path: Path, text: str | None
) -> None:
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="does not name a distribution"):
        install_distribution(str(tmp_path), paths)


@pytest.mark.parametrize("choose", [find_installer, uv], ids=["pip", "uv"])
def test_a_plan_for_what_is_there_is_empty(index: Path, choose: Callable[[], Installer]) -> None:
    assert choose().plan("click", name="click") == []
