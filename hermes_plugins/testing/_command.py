"""The `hermes` command as a process of its own, for tests of what a user sees."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TypeAlias

import msgspec
import pytest

from hermes_plugins._events import AnyEvent, decode_event
from hermes_plugins.testing._server import ScriptedServer

SECONDS = 60
"""How long a process may take before the test fails; the machine may be busy."""

Stream: TypeAlias = int | IO[bytes]


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """A process that has ended."""

    status: int
    stdout: bytes
    stderr: bytes

    @property
    def out(self) -> str:
        return self.stdout.decode("utf-8")

    @property
    def err(self) -> str:
        return self.stderr.decode("utf-8")

    @property
    def events(self) -> list[AnyEvent]:
        """What ``--json`` printed; every line has to be an event."""
        return [decode_event(line) for line in self.stdout.splitlines()]


class Command:
    """Starts ``hermes`` like a shell would."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home = home
        self.folder = folder
        self._model: dict[str, str] = {}

    def talks_to(self, server: ScriptedServer) -> None:
        """Use a scripted server as the model."""
        self._model = {
            "HERMES_MODEL__PROVIDER": "custom",
            "HERMES_MODEL__BASE_URL": server.url,
            "HERMES_MODEL__NAME": "scripted",
        }

    def environ(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        return {**os.environ, **self._model, **(more or {})}

    def with_modules(self, **sources: str) -> dict[str, str]:
        """Write modules into a folder on the search path; returns the environment for it."""
        folder = self.folder.parent / "modules"
        folder.mkdir(exist_ok=True)
        for name, source in sources.items():
            (folder / f"{name}.py").write_text(source, encoding="utf-8")
        path = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {"PYTHONPATH": os.pathsep.join(path)}

    def start(
        self,
        *arguments: str | bytes,
        stdin: Stream = subprocess.DEVNULL,
        stdout: Stream = subprocess.PIPE,
        stderr: Stream = subprocess.PIPE,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        program: tuple[str | bytes, ...] = (),
        before: Callable[[], object] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start it; ``before`` runs in the child before the program does (POSIX)."""

        def prepare() -> None:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever runs the tests may ignore it
            if before is not None:
                before()

        return subprocess.Popen(
            [*(program or hermes_program()), *arguments],
            bufsize=0,  # else a line that is read takes more with it, out of `finish`'s reach
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=self.environ(environ),
            cwd=cwd or self.folder,
            preexec_fn=prepare if os.name == "posix" else None,
        )

    def run(
        self,
        *arguments: str | bytes,
        input: bytes | None = None,  # noqa: A002
        stdin: Stream = subprocess.DEVNULL,
        stdout: Stream = subprocess.PIPE,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        program: tuple[str | bytes, ...] = (),
        before: Callable[[], object] | None = None,
    ) -> Ended:
        """Run it to its end; ``input`` is piped in."""
        process = self.start(
            *arguments,
            stdin=stdin if input is None else subprocess.PIPE,
            stdout=stdout,
            environ=environ,
            cwd=cwd,
            program=program,
            before=before,
        )
        return finish(process, input)

    def shell(self, line: str, *, environ: Mapping[str, str] | None = None) -> Ended:
        """Run a line of shell in which ``hermes`` is the command (POSIX)."""
        called = " ".join(shlex.quote(str(word)) for word in hermes_program())
        script = f'hermes() {{ {called} "$@"; }}\n{line}'
        return self.run(program=("/bin/sh", "-c", script), environ=environ)


def hermes_program() -> tuple[str, ...]:
    script = Path(sys.executable).with_name("hermes")
    return (str(script),) if script.exists() else (sys.executable, "-m", "hermes_core.cli.main")


def finish(process: subprocess.Popen[bytes], data: bytes | None = None) -> Ended:
    """Wait for the end."""
    try:
        out, err = process.communicate(data, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        pytest.fail(f"hermes did not end within {SECONDS} s:\n{out!r}\n{err!r}")
    return Ended(status=process.returncode, stdout=out or b"", stderr=err or b"")
