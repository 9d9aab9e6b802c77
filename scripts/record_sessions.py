"""Plays the terminal sessions that README.md and docs/ show, and writes down what really happens.

``<!-- session: NAME -->`` stands before a console block; its inputs are what stands behind a prompt.
NAME is ``offline``, or a script of docs/examples/sessions for the scripted model server. POSIX only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from hermes_plugins.testing import ScriptedServer, replies

ROOT = Path(__file__).resolve().parent.parent
SESSIONS = ROOT / "docs" / "examples" / "sessions"
BLOCK = re.compile(
    r"^<!-- session: (?P<name>\S+) -->\n```console\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_PROMPT = re.compile(rb"(?:^|\n)(?:> |Allow [^\n]*: ?|Your answer: ?)$")
_INPUT = re.compile(r"^(?:> |Allow .*?: +|Your answer: +)(.+)$", re.MULTILINE)


def recorded(name: str, shown: str) -> str:
    """What a block should hold: the same inputs, and what is answered to them now."""
    first, _, rest = shown.partition("\n")
    command = first.removeprefix("$ hermes").split()
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder, home = place / "notes", place / "home"
        folder.mkdir()
        home.mkdir()
        shutil.copy(SESSIONS / "notes.txt", folder)
        if name == "offline":
            settings = "model: {provider: offline}\n"
        else:
            script = replies.from_json((SESSIONS / f"{name}.json").read_bytes())
            url = stack.enter_context(ScriptedServer(script)).url
            settings = f"model: {{provider: custom, name: any-model, base_url: '{url}'}}\n"
        (home / "hermes.yaml").write_text(settings, encoding="utf-8")
        said = _talk(command, _INPUT.findall(rest), folder=folder, home=home)
    return f"{first}\n{_steady(said)}\n"


def _talk(command: list[str], inputs: list[str], *, folder: Path, home: Path) -> str:
    """Run ``hermes`` at a terminal of its own, answer each prompt in turn, then leave (Ctrl-D)."""
    import pty

    parent, child = pty.openpty()
    own = {"HERMES_HOME": str(home), "HOME": str(folder), "TERM": "dumb"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HERMES_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "hermes_core.cli.main", *command],
        stdin=child,
        stdout=child,
        stderr=child,
        cwd=folder,
        env={**kept, **own},
    )
    os.close(child)
    seen, since, left = b"", 0, [*(f"{line}\n".encode() for line in inputs), b"\x04"]
    while piece := _read(parent):
        seen += piece.replace(b"\r\n", b"\n")
        if left and _PROMPT.search(seen[since:]):
            since = len(seen)
            os.write(parent, left.pop(0))
    os.close(parent)
    if process.wait() != 0:
        raise RuntimeError(f"hermes ended with {process.returncode}:\n{seen.decode()}")
    return seen.decode("utf-8")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # Linux's way to say that the other end is closed
        return b""


def _steady(text: str) -> str:
    """The text without what differs each time."""
    text = re.sub(r"\d{8}_\d{6}_[0-9a-f]{6}", "20261130_101500_ab12cd", text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def main() -> int:
    """Write every session as it goes now."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))):
        text = page.read_text(encoding="utf-8")
        new = BLOCK.sub(
            lambda found: (
                f"<!-- session: {found['name']} -->\n```console\n"
                f"{recorded(found['name'], found['text'])}```"
            ),
            text,
        )
        if new != text:
            page.write_text(new, encoding="utf-8", newline="\n")
            print(f"{page.relative_to(ROOT)} written", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
