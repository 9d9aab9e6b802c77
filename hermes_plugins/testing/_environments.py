"""A plain environment on a real folder, for tests of tools: no limits on size, no speed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from hermes_plugins._environments import ExecResult, FileKind, FileStat
from hermes_plugins._errors import ToolError
from hermes_plugins._tools import Cancelled

_POSIX = os.name == "posix"


class FolderProcess:
    """A background command whose output goes to a file."""

    def __init__(self, name: str, command: str, process: subprocess.Popen[bytes], out: IO[bytes]):
        self.id = name
        self.command = command
        self.pid = process.pid
        self.started = 0.0
        self._process = process
        self._out = out

    @property
    def exit_code(self) -> int | None:
        code = self._process.poll()
        return 128 - code if code is not None and code < 0 else code

    def output(self, *, since: int = 0) -> tuple[str, int]:
        text = _text_of(self._out)
        return text[since:], len(text)

    async def write(self, data: str) -> None:
        if self._process.stdin is None or self._process.stdin.closed:
            raise ToolError(f"process {self.id}: its standard input is closed.")
        try:
            self._process.stdin.write(data.encode())
            self._process.stdin.flush()
        except OSError as error:
            raise ToolError(f"process {self.id}: {error.strerror}.") from None

    async def close_input(self) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    async def wait(self) -> int | None:
        while self._process.poll() is None:
            await asyncio.sleep(0.01)
        return self.exit_code

    async def kill(self) -> None:
        _kill(self._process)
        await self.wait()
        await self.close_input()


class FolderEnvironment:
    """Implements `Environment` on a folder. Use it where a tool needs files and commands."""

    id = "folder"
    is_local = True

    def __init__(self, folder: Path | str) -> None:
        self.workspace = os.path.realpath(folder)
        self._sessions: dict[str, tuple[str, dict[str, str]]] = {}
        self._processes: list[FolderProcess] = []
        self._scratch = ""

    def resolve(self, path: str) -> str:
        if "\0" in path:
            raise ToolError(f"{path!r}: a path cannot contain a zero byte.")
        return os.path.realpath(self._join(path))

    async def stat(self, path: str) -> FileStat:
        is_link = os.path.islink(self._join(path))
        try:
            found = os.stat(self.resolve(path))
        except OSError:
            return FileStat(kind="missing", is_link=is_link)
        kind: FileKind = (
            "file"
            if stat.S_ISREG(found.st_mode)
            else "folder"
            if stat.S_ISDIR(found.st_mode)
            else "other"
        )
        return FileStat(
            kind=kind,
            size=found.st_size,
            modified=found.st_mtime_ns,
            mode=stat.S_IMODE(found.st_mode),
            is_link=is_link,
        )

    async def list(self, path: str) -> Sequence[str]:
        try:
            with os.scandir(self.resolve(path)) as entries:
                return sorted(
                    f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries
                )
        except OSError as error:
            raise ToolError(f"{path}: {error.strerror}.") from None

    async def read(self, path: str, *, limit: int = 50_000_000) -> bytes:
        found = await self.stat(path)
        if found.kind != "file":
            raise ToolError(f"{path}: {_not_a_file(found.kind)}.")
        if found.size > limit:
            raise ToolError(f"{path}: {found.size:,} bytes; at most {limit:,} are read.")
        try:
            return Path(self.resolve(path)).read_bytes()
        except OSError as error:
            raise ToolError(f"{path}: {error.strerror}.") from None

    async def write(self, path: str, data: bytes, *, expected: FileStat | None = None) -> FileStat:
        target = Path(self.resolve(path))
        old = await self.stat(path)
        if old.kind not in ("file", "missing"):
            raise ToolError(f"{path}: {_not_a_file(old.kind)}.")
        if expected is not None and _version(old) != _version(expected):
            raise ToolError(f"{path}: it changed since it was read.", hint="Read it again.")
        new = target.with_name(".new-file")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            new.write_bytes(data)
            if old.kind == "file":
                new.chmod(old.mode)
            new.replace(target)
        except OSError as error:
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)
            raise ToolError(f"{path}: {error.strerror}.") from None
        return await self.stat(path)

    async def remove(self, path: str) -> None:
        if os.path.islink(self._join(path)):
            raise ToolError(f"{path}: it is a link.")
        try:
            os.unlink(self.resolve(path))
        except OSError as error:
            raise ToolError(f"{path}: {error.strerror}.") from None

    async def exec(
        self,
        command: str | Sequence[str],
        *,
        cwd: str = "",
        timeout: float = 180.0,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        output_limit: int = 50_000,
        session_key: str = "",
        cancelled: Cancelled | None = None,
    ) -> ExecResult:
        folder, exported = self._sessions.get(session_key, (self.workspace, {}))
        after = start = self._folder(cwd) if cwd else folder
        with (
            tempfile.TemporaryDirectory() as scratch,
            tempfile.TemporaryFile() as out,
            _file_with(stdin or "") as typed,
        ):
            state = Path(scratch, "state")
            process = self._spawn(
                _carrying(command, state) if session_key and isinstance(command, str) else command,
                cwd=start,
                env={**exported, **(env or {})},
                stdin=typed,
                out=out,
            )
            stopped = await _ended(process, timeout, cancelled)
            if session_key and state.exists():
                after, variables = _read_state(state)
                self._sessions[session_key] = (folder if cwd else after, variables)
            code = None if stopped else process.returncode
            text, omitted, spilled = self._shorten(_text_of(out), output_limit)
        return ExecResult(
            output=text,
            exit_code=code,
            timed_out=stopped == "timeout",
            cancelled=stopped == "cancelled",
            omitted_chars=omitted,
            spilled_to=spilled,
            cwd=after,
        )

    async def start(
        self,
        command: str,
        *,
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        session_key: str = "",
    ) -> FolderProcess:
        folder, exported = self._sessions.get(session_key, (self.workspace, {}))
        out = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as the process)
        process = self._spawn(
            command,
            cwd=self._folder(cwd) if cwd else folder,
            env={**exported, **(env or {})},
            stdin=subprocess.PIPE,
            out=out,
        )
        started = FolderProcess(f"p{len(self._processes) + 1}", command, process, out)
        self._processes.append(started)
        return started

    def processes(self) -> Sequence[FolderProcess]:
        return tuple(self._processes)

    async def close(self) -> None:
        for process in self._processes:
            await process.kill()
            process._out.close()
        self._processes.clear()
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _join(self, path: str) -> str:
        return _existing(os.path.join(self.workspace, os.path.expanduser(path)))

    def _folder(self, path: str) -> str:
        folder = self.resolve(path)
        if not os.path.isdir(folder):
            raise ToolError(f"{path}: no such folder.")
        return folder

    def _shorten(self, text: str, limit: int) -> tuple[str, int, str]:
        """The text within the limit, how much of it is left out, and the file that has it all."""
        if len(text) <= limit:
            return text, 0, ""
        self._scratch = self._scratch or tempfile.mkdtemp(prefix="hermes-test-")
        number, name = tempfile.mkstemp(dir=self._scratch)
        with os.fdopen(number, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        room = max(limit - len(_note(len(text), name)), 0)
        head = room * 2 // 5
        tail = len(text) - (room - head)
        return text[:head] + _note(tail - head, name) + text[tail:], tail - head, name

    def _spawn(
        self,
        command: str | Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str] | None,
        stdin: int | IO[bytes],
        out: IO[bytes],
    ) -> subprocess.Popen[bytes]:
        shell = shutil.which("bash") or "/bin/sh"
        try:
            return subprocess.Popen(
                [shell, "-c", command] if isinstance(command, str) else list(command),
                cwd=cwd,
                env={**os.environ, **(env or {})},
                stdin=stdin,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=_POSIX,
            )
        except OSError as error:
            raise ToolError(f"{command}: {error.strerror}.") from None


async def _ended(
    process: subprocess.Popen[bytes], timeout: float, cancelled: Cancelled | None
) -> str:
    """Wait for the end; "timeout" or "cancelled" when that ended it."""
    waited = 0.0
    try:
        while process.poll() is None:
            if cancelled is not None and cancelled.is_set():
                return "cancelled"
            if waited >= timeout:
                return "timeout"
            await asyncio.sleep(0.01)
            waited += 0.01
        return ""
    finally:
        if process.returncode is None:
            _kill(process)
            process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    if _POSIX:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        subprocess.run(["taskkill", "/T", "/F", "/PID", str(process.pid)], capture_output=True)


def _carrying(command: str, state: Path) -> str:
    return f"trap '{{ pwd -P; env -0; }} > {state}' EXIT\n{command}"


def _read_state(state: Path) -> tuple[str, dict[str, str]]:
    folder, _, variables = state.read_text(encoding="utf-8", errors="replace").partition("\n")
    pairs = (entry.partition("=") for entry in variables.split("\0") if entry)
    return folder, {name: value for name, _, value in pairs if name not in ("_", "SHLVL")}


def _file_with(text: str) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115  (the child reads it)
    file.write(text.encode())
    file.seek(0)
    return file


def _text_of(file: IO[bytes]) -> str:
    """What the file holds so far; the child's writing position is left alone on its own handle."""
    size = os.fstat(file.fileno()).st_size
    if not _POSIX:
        file.seek(0)
        return file.read(size).decode("utf-8", "replace")
    return os.pread(file.fileno(), size, 0).decode("utf-8", "replace")


def _note(omitted: int, name: str) -> str:
    return f"\n[{omitted:,} characters left out; all of it is in {name}]\n"


def _existing(path: str) -> str:
    """``path``, with names that exist only in another Unicode form replaced."""
    head, name = os.path.split(path)
    if os.path.lexists(path) or head == path:
        return path
    head = _existing(head)
    try:
        found = [other for other in os.listdir(head) if _folded(other) == _folded(name)]
    except OSError:
        found = []
    return os.path.join(head, found[0] if len(found) == 1 else name)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).replace("\u202f", " ")


def _not_a_file(kind: FileKind) -> str:
    return {"missing": "no such file", "folder": "it is a folder"}.get(kind, "not a regular file")


def _version(found: FileStat) -> tuple[str, int, int]:
    return found.kind, found.size, found.modified
