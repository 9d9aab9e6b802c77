"""The environments that are measured: Hermes as users have it, and each peer in one of its own.

Everything lives in .venvs/. Hermes and its built-in plugins are installed from wheels, byte-compiled,
and again whenever a source file changed. With ``uv`` where there is one, else with venv and pip.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from benchmarks.measure import NotRun

ROOT = Path(__file__).parent.parent
VENVS = ROOT / ".venvs"
PEERS = {"hermes-agent": "hermes-agent", "nanobot": "nanobot-ai", "llm": "llm"}
"""Peer -> its distribution."""


def python_of(venv: Path) -> Path:
    """The interpreter of an environment."""
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def program_of(venv: Path, name: str) -> list[str]:
    """A console script, run by its interpreter: no shim and no shell in between."""
    return [str(python_of(venv)), str(python_of(venv).parent / name)]


def site_packages(venv: Path) -> Path:
    """Where its distributions are."""
    found = [*venv.glob("lib/python*/site-packages"), *venv.glob("Lib/site-packages")]
    return found[0]


def version_in(venv: Path, distribution: str) -> str:
    """The version of a distribution installed there."""
    pattern = f"{distribution.replace('-', '_')}-*.dist-info"
    folder = next(site_packages(venv).glob(pattern))
    return folder.name.removesuffix(".dist-info").rpartition("-")[2]


def hermes_venv() -> Path:
    """The environment with Hermes and every built-in plugin, made when it is missing or old.

    Raises:
        NotRun: it cannot be installed.
    """
    venv, mark = VENVS / "bench", VENVS / "bench.built-from"
    state = _state_of_sources()
    if mark.exists() and mark.read_text(encoding="utf-8") == state:
        return venv
    plugins = sorted(path.parent for path in ROOT.glob("plugins-builtin/*/pyproject.toml"))
    _create(venv)
    pins = ["-c", str(ROOT / "constraints.txt")]
    what = [f"{ROOT}[all]", *map(str, plugins)]
    _install(venv, [*pins, *what], ours=[path.name for path in plugins])
    mark.write_text(state, encoding="utf-8")
    return venv


def venv_with(distribution: str) -> Path:
    """An environment with one distribution of the registry, made when it is missing.

    Raises:
        NotRun: it cannot be installed.
    """
    venv = VENVS / f"peer-{distribution}"
    if not (venv / "complete").exists():
        _create(venv)
        _install(venv, [distribution])
        (venv / "complete").touch()
    return venv


def add(venv: Path, distribution: str) -> None:
    """Install one more distribution there, once.

    Raises:
        NotRun: it cannot be installed.
    """
    mark = venv / f"with-{distribution}"
    if not mark.exists():
        _install(venv, [distribution])
        mark.touch()


def copy_with_plugins(venv: Path, kinds: Sequence[tuple[str, int]]) -> tuple[Path, list[str]]:
    """A copy with more plugins, so many of each entry point group; also their names."""
    copy = VENVS / "bench-more-plugins"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(venv, copy, symlinks=True)
    groups = [group for group, count in kinds for _ in range(count)]
    names = [f"bench-plugin-{number:02}" for number in range(len(groups))]
    for name, group in zip(names, groups, strict=True):
        _write_plugin(site_packages(copy), name, group)
    _do([str(python_of(copy)), "-m", "compileall", "-q", str(site_packages(copy))])
    return copy, names


_DECLARES = {
    "hermes.providers": """
from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers():
    key = "{name}_API_KEY".upper().replace("-", "_")
    return [ProviderProfile(id="{name}", base_url="https://{name}.invalid/v1", env=(key,))]
""",
    "hermes.tools": """
from hermes_plugins import Pure, hookimpl, tool


@tool(toolset="{name}", effects=[Pure()])
async def look_up(word: str) -> str:
    \"\"\"Look a word up.\"\"\"
    return word


@hookimpl
def hermes_register_tools():
    return [look_up]
""",
}
"""What the plugins of a group say; what is never imported need not say anything."""


def _write_plugin(site: Path, name: str, group: str) -> None:
    module = name.replace("-", "_")
    (site / module).mkdir()
    text = f'"""{name}."""\n' + _DECLARES.get(group, "").format(name=name)
    (site / module / "__init__.py").write_text(text, encoding="utf-8")
    info = site / f"{module}-0.1.dist-info"
    info.mkdir()
    metadata = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\nRequires-Dist: hermes-host>=0.1\n"
    )
    point = f"web_search.{module}" if group == "hermes.services" else name
    target = f"[{group}]\n{point} = {module}\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    (info / "entry_points.txt").write_text(target, encoding="utf-8")
    (info / "INSTALLER").write_text("pip\n", encoding="utf-8")
    (info / "RECORD").write_text(f"{module}/__init__.py,,\n", encoding="utf-8")


def _state_of_sources() -> str:
    digest = hashlib.sha256(sys.version.encode())
    for path in _sources():
        about = path.stat()
        digest.update(f"{path}|{about.st_mtime_ns}|{about.st_size}\n".encode())
    return digest.hexdigest()


def _sources() -> Iterator[Path]:
    yield ROOT / "pyproject.toml"
    yield ROOT / "constraints.txt"
    for folder in ("hermes_core", "hermes_plugins", "plugins-builtin"):
        for path in sorted((ROOT / folder).rglob("*")):
            inside = path.relative_to(ROOT).parts
            if path.is_file() and not {"__pycache__", "tests"} & set(inside):
                yield path


@cache
def _uv() -> str | None:
    """A uv that runs; the name alone may be a shim for one that is not there."""
    uv = shutil.which("uv")
    if uv and subprocess.run([uv, "--version"], capture_output=True).returncode == 0:
        return uv
    return None


def _create(venv: Path) -> None:
    shutil.rmtree(venv, ignore_errors=True)
    base = getattr(sys, "_base_executable", sys.executable)
    if uv := _uv():
        _do([uv, "venv", "-q", "--python", base, str(venv)])
    else:
        _do([base, "-m", "venv", str(venv)])


def _install(venv: Path, what: Sequence[str], *, ours: Sequence[str] = ()) -> None:
    python = str(python_of(venv))
    if uv := _uv():
        # Without this, uv takes a folder it has built before from its cache.
        again = [f"--reinstall-package={name}" for name in ("hermes-host", *ours)] if ours else []
        _do([uv, "pip", "install", "-q", "--compile-bytecode", "--python", python, *again, *what])
    else:
        _do([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *what])


def _do(argv: Sequence[str]) -> None:
    env = {**os.environ, "HERMES_DISABLE_LAZY_INSTALLS": "1"}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()
        raise NotRun(f"{Path(argv[0]).name} {argv[1]}: {lines[-1]}")
