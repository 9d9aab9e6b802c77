"""The terminal sessions in README.md and docs/ are what really happens, line by line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_plugins.testing import ScriptedServer, replies

ROOT = Path(__file__).resolve().parents[2]
SESSIONS = ROOT / "docs" / "examples" / "sessions"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"^<!-- session: (\S+) -->\n```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = re.compile(rb"(?:^|\n)(?:> |Allow\? [^\n]*: |Your answer: )$")
INPUT = re.compile(r"^(?:> |Allow\? .*?: |Your answer: )(.*)$", re.MULTILINE)
SHOWN = [
    (page.name, kind, text) for page in PAGES for kind, text in BLOCK.findall(page.read_text("utf-8"))
]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")


def talk(command: list[str], inputs: list[str], *, folder: Path, home: Path) -> str:
    """Run ``hermes`` at a terminal of its own, answer each prompt in turn, then leave (Ctrl-D)."""
    import pty

    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "hermes_core.cli.main", *command],
        stdin=child,
        stdout=child,
        stderr=child,
        cwd=folder,
        env={**os.environ, "HERMES_HOME": str(home), "HOME": str(folder), "TERM": "dumb"},
    )
    os.close(child)
    seen, since, left = b"", 0, [f"{line}\n".encode() for line in inputs] + [b"\x04"]
    while True:
        try:
            piece = os.read(parent, 4096)
        except OSError:  # Linux's way to say that the other end is closed
            break
        if not piece:
            break
        seen += piece.replace(b"\r\n", b"\n")
        if left and PROMPT.search(seen[since:]):
            since = len(seen)
            os.write(parent, left.pop(0))
    os.close(parent)
    assert process.wait() == 0
    return seen.decode("utf-8")


def steady(text: str) -> str:
    """The text without what differs each time."""
    text = re.sub(r"\d{8}_\d{6}_[0-9a-f]{6}", "20261130_101500_ab12cd", text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines()).removesuffix("^D")


@pytest.mark.parametrize(("page", "kind", "shown"), SHOWN, ids=[f"{p}-{k}" for p, k, _ in SHOWN])
def test_a_session_goes_as_it_is_shown(page: str, kind: str, shown: str, tmp_path: Path) -> None:
    folder, home = tmp_path / "notes", tmp_path / "hermes"
    folder.mkdir()
    shutil.copy(SESSIONS / "notes.txt", folder)
    prompt, _, expected = shown.partition("\n")
    command = prompt.removeprefix("$ hermes").split()
    inputs = [text for text in INPUT.findall(expected) if text]
    if kind == "offline":
        said = talk([*command, "--provider", "offline"], inputs, folder=folder, home=home)
    else:
        script = replies.from_json((SESSIONS / f"{kind}.json").read_bytes())
        with ScriptedServer(script) as server:
            home.mkdir()
            settings = f"model: {{provider: custom, name: any-model, base_url: '{server.url}'}}\n"
            (home / "hermes.yaml").write_text(settings, encoding="utf-8")
            said = talk(command, inputs, folder=folder, home=home)
    assert steady(said) == steady(expected), page


def test_there_are_sessions_to_check() -> None:
    assert {kind for _, kind, _ in SHOWN} >= {"offline", "scripted"}
