"""`hermes update` with pip and uv, in environments of its own; the index is a folder of wheels."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from venv import EnvBuilder

import pytest

from hermes_core import __version__

pytestmark = pytest.mark.xdist_group("packaging")

NEXT = "9.1.0"
FOREIGN = "hermes_plugin_old-1.0"
UV = shutil.which("uv")


def made_newer(wheel: Path, into: Path) -> None:
    """The same wheel with a later version."""
    name = wheel.name.partition("-")[0]
    old = wheel.name.split("-")[1]
    written: list[tuple[str, bytes]] = []
    with zipfile.ZipFile(wheel) as source:
        for item in source.namelist():
            data = source.read(item)
            if item.endswith(".dist-info/RECORD"):
                continue
            if item.endswith(".dist-info/METADATA"):
                data = re.sub(rb"(?m)^Version: .*$", f"Version: {NEXT}".encode(), data, count=1)
            if item == "hermes_core/__init__.py":
                data = data.replace(f'"{__version__}"'.encode(), f'"{NEXT}"'.encode())
            written.append((item.replace(f"{name}-{old}", f"{name}-{NEXT}"), data))
    record = f"{name}-{NEXT}.dist-info/RECORD"
    with zipfile.ZipFile(into / f"{name}-{NEXT}-py3-none-any.whl", "w") as target:
        rows = []
        for item, data in written:
            target.writestr(item, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append(f"{item},sha256={digest},{len(data)}")
        target.writestr(record, "\n".join([*rows, f"{record},,"]) + "\n")


class Place:
    """An environment with ``hermes-host[default]``, and an index with something newer."""

    def __init__(self, folder: Path, index: list[Path], *, uv: bool) -> None:
        self.folder = folder
        self.index = index
        self.newer = folder / "newer"
        self.newer.mkdir(parents=True)
        EnvBuilder(with_pip=not uv, symlinks=os.name != "nt").create(folder / "venv")
        self.python = folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        if uv:
            command = [str(UV), "pip", "install", "--quiet", "--python", str(self.python)]
        else:
            command = [str(self.python), "-m", "pip", "install", "--quiet"]
        done = self.call(*command, "hermes-host[default]")
        assert done.returncode == 0, done.stderr
        self.home = folder / "home"

    @property
    def site(self) -> Path:
        (found,) = (self.folder / "venv").glob("**/site-packages/hermes_core")
        return found.parent

    def call(
        self, *words: str, variables: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        places = os.pathsep.join(map(str, (self.newer, *self.index)))
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "UV_", "PYTHON"))}
        from_folders = {
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": places.replace(os.pathsep, " "),
            "UV_NO_INDEX": "1",
            "UV_FIND_LINKS": places.replace(os.pathsep, ","),
        }
        always = {
            "PIP_RETRIES": "1",
            "UV_HTTP_RETRIES": "0",
            "UV_NO_CACHE": "1",
            "HERMES_HOME": str(self.folder / "home"),
        }
        return subprocess.run(
            words,
            cwd=self.folder,
            env={**kept, **always, **(from_folders if variables is None else variables)},
            capture_output=True,
            check=False,
            encoding="utf-8",
        )

    def hermes(
        self, *words: str, variables: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return self.call(str(self.python.with_name("hermes")), *words, variables=variables)


@pytest.fixture(scope="module", params=["pip", "uv"])
def place(
    request: pytest.FixtureRequest,
    dist: Path,
    wheelhouse: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Place:
    if request.param == "uv" and UV is None:
        pytest.skip("uv is not installed")
    folder = tmp_path_factory.mktemp(f"update-{request.param}")
    return Place(folder, [dist, wheelhouse], uv=request.param == "uv")


@pytest.mark.slow
def test_an_environment_is_brought_up_to_date_and_cleaned_up(place: Place, dist: Path) -> None:
    """One after the other in one environment, because making one takes seconds."""
    ended = place.hermes("update", "--check")
    assert ended.returncode == 0, ended.stderr
    assert (
        ended.stdout == f"Nothing newer than hermes-host {__version__} and its plugins was found.\n"
    )

    for name in ("hermes_host", "hermes_plugin_todo"):
        made_newer(next(dist.glob(f"{name}-*.whl")), place.newer)
    ended = place.hermes("update", "--check")
    assert ended.returncode == 3, ended.stderr
    assert f"hermes-host {__version__} -> {NEXT}" in ended.stdout
    assert "hermes-plugin-todo " in ended.stdout

    # A stranger's plugin that asks for the old host is named before anything is changed.
    foreign = place.site / f"{FOREIGN}.dist-info"
    foreign.mkdir()
    (foreign / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: hermes-plugin-old\nVersion: 1.0\n"
        "Requires-Dist: hermes-host<9\n",
        encoding="utf-8",
    )
    refused = place.hermes("update")
    assert refused.returncode == 2
    assert f"hermes-plugin-old 1.0 does not go with hermes-host {NEXT}." in refused.stderr
    assert "--force" in refused.stderr
    assert place.hermes("--version").stdout == f"hermes {__version__}\n"
    shutil.rmtree(foreign)

    # What pip had set aside when it was cut off.
    left = place.site / "~ermes_plugin_todo-0.0.9.dist-info"
    left.mkdir()
    (left / "METADATA").write_text("Name: hermes-plugin-todo\n", encoding="utf-8")
    ended = place.hermes("doctor", "--no-turn")
    assert f"An update was cut off and left a folder behind: {left.name}." in ended.stdout

    ended = place.hermes("update", "--dry-run")
    assert ended.returncode == 0
    assert f"{left.name}: left behind by an update that was cut off" in ended.stdout
    assert left.exists()

    ended = place.hermes("update")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"Removed {left.name}." in ended.stdout
    assert f"Updated: hermes {NEXT}." in ended.stdout
    assert not left.exists()
    assert place.hermes("--version").stdout == f"hermes {NEXT}\n"
    rows = json.loads(place.hermes("plugins", "list", "--json").stdout)
    versions = {row["name"]: row["version"] for row in rows}
    assert versions["todo"] == NEXT
    assert versions["file"] != NEXT

    ended = place.hermes("update")
    assert ended.returncode == 0
    assert ended.stdout == f"Nothing newer than hermes-host {NEXT} and its plugins was found.\n"

    # Two versions of one name: the one that runs is put in place again, the other goes.
    stale = place.site / f"hermes_host-{__version__}.dist-info"
    shutil.copytree(place.site / f"hermes_host-{NEXT}.dist-info", stale)
    facts = (stale / "METADATA").read_text("utf-8")
    (stale / "METADATA").write_text(
        facts.replace(f"Version: {NEXT}", f"Version: {__version__}"), "utf-8"
    )
    told = place.hermes("doctor", "--no-turn")
    assert told.returncode == 1
    assert "hermes-host is half updated: versions" in told.stdout
    ended = place.hermes("update")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert not stale.exists()
    assert "half updated" not in place.hermes("doctor", "--no-turn").stdout
    assert place.hermes("--version").stdout == f"hermes {NEXT}\n"


@pytest.mark.slow
def test_an_index_that_cannot_be_reached_is_told_and_nothing_changes(place: Place) -> None:
    nowhere = "http://127.0.0.1:9/simple"
    ended = place.hermes("update", variables={"PIP_INDEX_URL": nowhere, "UV_INDEX_URL": nowhere})
    assert ended.returncode == 1
    assert "Nothing was changed." in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_development_checkout_is_left_alone_with_the_command_for_it(command) -> None:
    ended = command.run("update", "--check")
    assert ended.status == 2
    assert "Hermes runs from a development checkout, " in ended.err
    assert re.search(r"`git -C \S+ pull`, then `make -C \S+`\.", ended.err)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("uv-receipt.toml", "`uv tool upgrade hermes-host`"),
        ("pipx_metadata.json", "`pipx upgrade hermes-host`"),
    ],
)
def test_an_environment_that_another_tool_keeps_is_left_to_it(
    place: Place, file: str, said: str
) -> None:
    mark = place.folder / "venv" / file
    mark.touch()
    try:
        ended = place.hermes("update")
    finally:
        mark.unlink()
    assert ended.returncode == 2
    assert said in ended.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the lock is held by another process on POSIX")
def test_a_running_gateway_is_told_of(place: Place, dist: Path) -> None:
    import fcntl

    place.home.mkdir(exist_ok=True)
    made_newer(next(dist.glob("hermes_plugin_clarify-*.whl")), place.newer)
    with (place.home / "gateway.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ended = place.hermes("update")
    assert ended.returncode == 0, ended.stderr
    assert (
        "still runs the old version: `hermes gateway stop`, then `hermes gateway run`."
        in ended.stdout
    )
