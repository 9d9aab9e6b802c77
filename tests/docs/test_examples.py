"""Every plugin in docs/examples passes its own tests, installed as a stranger's would be."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
PLUGINS = sorted(EXAMPLES.glob("hermes-plugin-*"))


def install(example: Path, site: Path) -> None:
    """What an editable install leaves behind: a path, and the metadata with the entry points."""
    project = tomllib.loads((example / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    needs = "".join(f"Requires-Dist: {line}\n" for line in project["dependencies"])
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(metadata + needs, encoding="utf-8")
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in named.items())
        for group, named in project["entry-points"].items()
    )
    (info / "entry_points.txt").write_text(points, encoding="utf-8")


def environment(*paths: Path) -> dict[str, str]:
    """A child's variables, with these folders on its path."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}


@pytest.mark.parametrize("example", PLUGINS, ids=[path.name for path in PLUGINS])
def test_an_example_passes_its_own_tests(example: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    install(example, site)
    command = [sys.executable, "-m", "pytest", "-p", "hermes_plugins.testing", str(example)]
    done = subprocess.run(
        [*command, "-q", "-p", "no:cacheprovider"],
        cwd=ROOT,
        env=environment(site, example),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


def test_the_examples_of_the_kit_pass() -> None:
    command = [sys.executable, "-m", "pytest", "-p", "hermes_plugins.testing", "docs/examples/kit"]
    done = subprocess.run(
        [*command, "-q", "-p", "no:cacheprovider"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


@pytest.mark.parametrize("example", PLUGINS, ids=[path.name for path in PLUGINS])
def test_an_example_is_found_but_off_and_can_be_switched_on(example: Path, tmp_path: Path) -> None:
    site, name = tmp_path / "site", example.name.removeprefix("hermes-plugin-")
    install(example, site)

    def hermes(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "hermes_core.cli.main", *arguments],
            cwd=tmp_path,
            env={**environment(site, example), "HERMES_HOME": str(tmp_path / "home")},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert f"{name} 0.1.0  (off)" in hermes("plugins", "info", name)
    hermes("plugins", "enable", name)
    assert f"{name} 0.1.0  (on)" in hermes("plugins", "info", name)
