"""Plays the terminal sessions that README.md and docs/ show, and writes down what really happens.

``<!-- session: NAME -->`` stands before a console block: commands (``$ …``) and what they print. What
stands behind a prompt of a conversation is its input. The blocks of one NAME on a page are one session,
with the same folder, home and environment. NAME is ``offline``, or a script of docs/examples/sessions
for the scripted model server. ``<!-- put NAME: FILE as PATH -->`` copies a file of the repository into
the session's folder at that point. POSIX only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from venv import EnvBuilder

from hermes_plugins.testing import ScriptedServer, replies

ROOT = Path(__file__).resolve().parent.parent
SESSIONS = ROOT / "docs" / "examples" / "sessions"
BLOCK = re.compile(
    r"^<!-- session: (?P<name>\S+) -->\n```console\n(?P<text>.*?)^```$"
    r"|^<!-- put (?P<into>\S+): (?P<file>\S+) as (?P<path>\S+) -->$",
    re.MULTILINE | re.DOTALL,
)
_STEP = re.compile(r"^\$ (?P<command>.+)\n(?P<shown>(?:(?!\$ ).*\n)*)", re.MULTILINE)
_PROMPT = re.compile(rb"(?:^|\n)(?:> |Allow [^\n]*: ?|Your answer: ?)$")
_INPUT = re.compile(r"^(?:> |Allow .*?: +|Your answer: +)(.+)$", re.MULTILINE)
_PROGRAMS = {"hermes": "hermes_core.cli.main", "pip": "pip", "pytest": "pytest"}


def played(page: str) -> str:
    """The text of a page with its sessions as they go now."""
    with ExitStack() as stack:
        places: dict[str, Place] = {}

        def again(found: re.Match[str]) -> str:
            name = found["name"] or found["into"]
            if name not in places:
                places[name] = stack.enter_context(place(name))
            if found["file"]:
                shutil.copy(ROOT / found["file"], places[name].folder / found["path"])
                return found[0]
            steps = _STEP.finditer(found["text"])
            said = "\n".join(places[name].step(one["command"], one["shown"]) for one in steps)
            return f"<!-- session: {name} -->\n```console\n{said}\n```"

        return BLOCK.sub(again, page)


@contextmanager
def place(name: str) -> Iterator[Place]:
    """A folder with a file in it, a fresh home that has its model, and an environment of its own."""
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder, home = top / "notes", top / "home"
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
        yield Place(folder, home, programs=_environment(top / "venv"))


class Place:
    """Where one session is played."""

    def __init__(self, folder: Path, home: Path, *, programs: Path) -> None:
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HERMES_")}
        self._environ = {
            **kept,
            "PATH": os.pathsep.join([str(programs), os.environ.get("PATH", os.defpath)]),
            "HERMES_HOME": str(home),
            "HOME": str(folder),
            "TERM": "dumb",
            # The build tools are there already, and nothing is fetched.
            "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "0",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_ROOT_USER_ACTION": "ignore",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def step(self, command: str, shown: str) -> str:
        """The command, and what it prints now; ``shown`` has the inputs of a conversation."""
        if "--cli" in command:
            said = self._talk(command, _INPUT.findall(shown))
        else:
            done = subprocess.run(
                ["/bin/sh", "-c", command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=self._environ,
                check=False,
            )
            said = _checked(done.stdout, command, done.returncode)
        return f"$ {command}\n{_steady(said)}".rstrip("\n")

    def _talk(self, command: str, inputs: list[str]) -> str:
        """Run it at a terminal of its own, answer each prompt in turn, then leave (Ctrl-D)."""
        import pty

        parent, child = pty.openpty()
        process = subprocess.Popen(
            ["/bin/sh", "-c", f"exec {command}"],
            stdin=child,
            stdout=child,
            stderr=child,
            cwd=self.folder,
            env=self._environ,
        )
        os.close(child)
        seen, since, left = b"", 0, [*(f"{line}\n".encode() for line in inputs), b"\x04"]
        while piece := _read(parent):
            seen += piece.replace(b"\r\n", b"\n")
            if left and _PROMPT.search(seen[since:]):
                since = len(seen)
                os.write(parent, left.pop(0))
        os.close(parent)
        return _checked(seen, command, process.wait())


def _environment(venv: Path) -> Path:
    """An environment that sees what this one has; returns the folder of its programs.

    What a session installs goes there, and not into the environment of whoever plays it.
    """
    EnvBuilder(with_pip=False, symlinks=True).create(venv)
    variables = {"base": str(venv), "platbase": str(venv)}
    library = Path(sysconfig.get_path("purelib", "venv", vars=variables))
    line = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (library / "zz_shared.pth").write_text(line, encoding="utf-8")
    programs = Path(sysconfig.get_path("scripts", "venv", vars=variables))
    for name, module in _PROGRAMS.items():
        file = programs / name
        file.write_text(f'#!/bin/sh\nexec "{programs}/python" -P -m {module} "$@"\n')
        file.chmod(0o755)
    return programs


def _checked(output: bytes, command: str, status: int) -> str:
    text = output.decode("utf-8")
    if status != 0:
        raise RuntimeError(f"{command} ended with {status}:\n{text}")
    return text


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # Linux's way to say that the other end is closed
        return b""


def _steady(text: str) -> str:
    """The text without what differs each time."""
    text = re.sub(r"\d{8}_\d{6}_[0-9a-f]{6}", "20261130_101500_ab12cd", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "2026-11-30 10:15", text)
    text = re.sub(r"\bin \d+\.\d+s\b", "in 0.10s", text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def main() -> int:
    """Write every session as it goes now."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))):
        text = page.read_text(encoding="utf-8")
        if (new := played(text)) != text:
            page.write_text(new, encoding="utf-8", newline="\n")
            print(f"{page.relative_to(ROOT)} written", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
