"""What is imported when: every module alone, entry modules cheaply, a chat without what it needs not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

HEAVY = {
    *("anthropic", "openai", "mcp", "starlette", "uvicorn", "httpx", "httpcore", "anyio", "h11"),
    *("yaml", "ruamel", "click", "rich", "pygments", "prompt_toolkit", "stevedore", "platformdirs"),
    "hermes_core",
}
HEAVY_STDLIB = {
    *("asyncio", "concurrent.futures", "ctypes", "email", "http.client", "importlib.metadata"),
    *("multiprocessing", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "tomllib"),
    *("unittest", "urllib.request", "xml", "zipfile"),
}
ROOT = Path(__file__).resolve().parent.parent.parent
PLUGINS = sorted(
    path.parent.name for path in ROOT.glob("plugins-builtin/*/hermes_plugin_*/__init__.py")
)

# Runs each import in a child forked from a bare interpreter; 100 new interpreters would take minutes.
ALONE = """
import importlib, os, sys
failed = []
for name in sys.argv[1:]:
    child = os.fork()
    if not child:
        try:
            importlib.import_module(name)
        except BaseException as error:
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
            os._exit(1)
        os._exit(0)
    os.waitpid(child, 0)
"""

# Runs the command line and then tells, on the last line, every module that it has imported.
TELL = """
import sys
sys.argv[0] = "hermes"
from hermes_core.cli.main import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(*sorted(sys.modules))
"""


def run(code: str, *arguments: str, cwd: Path) -> str:
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        capture_output=True,
        check=False,
        encoding="utf-8",
        cwd=cwd,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_every_module_imports_alone_and_without_a_warning(
    sources: Sequence, tmp_path: Path
) -> None:
    modules = [
        source.module
        for source in sources
        if source.package in ("hermes_core", "hermes_plugins") and "windows" not in source.module
    ]
    assert run(ALONE, *modules, cwd=tmp_path) == ""


@pytest.mark.parametrize("module", PLUGINS)
def test_an_entry_module_imports_the_kit_and_cheap_parts_only(module: str, tmp_path: Path) -> None:
    told = run(f"import sys, {module}; print(*sys.modules)", cwd=tmp_path)
    modules = set(told.split())
    before = set(
        run("import sys, hermes_plugins._markers; print(*sys.modules)", cwd=tmp_path).split()
    )
    assert modules & HEAVY == set()
    assert (modules - before) & HEAVY_STDLIB == set()
    assert {name for name in modules if name.startswith(f"{module}.")} == set(), (
        "its work, too early"
    )


def test_the_version_is_told_before_anything_is_imported(tmp_path: Path) -> None:
    modules = run(TELL, "--version", cwd=tmp_path).splitlines()[-1].split()
    assert set(modules) & {"click", "asyncio", "msgspec", "pluggy", "hermes_core.cli.app"} == set()


def test_a_chat_imports_nothing_that_only_other_commands_need(tmp_path: Path) -> None:
    chat = ["chat", "--provider", "offline", "-q", "help"]
    run(TELL, *chat, cwd=tmp_path)  # fills the table of entry points
    modules = set(run(TELL, *chat, cwd=tmp_path).splitlines()[-1].split())
    assert (
        modules
        & {"rich", "pygments", "stevedore", "importlib.metadata", "prompt_toolkit", "ruamel"}
        == set()
    )
    assert modules & {"hermes_core.cli.plugins", "hermes_core.cli.config_command"} == set()
