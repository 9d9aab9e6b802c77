"""The local environment: files and commands of this machine, as the user who runs the host.

No sandbox. Small files and folders are read in the loop's own thread (12 microseconds against 250
through another); everything that may take long goes to daemon threads.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hermes_plugins import Cancelled, ExecResult, FileStat, Host, ToolError

from . import Settings, files, threads

if TYPE_CHECKING:
    from .background import LocalProcess, Table
    from .child import Child
    from .shell import Carried

INLINE_BYTES = 1_000_000
INLINE_FOLDER_BYTES = 100_000
"""What file systems say of a folder with about 2,000 names."""
MAX_SESSIONS = 64


class LocalEnvironment:
    """Implements `Environment`."""

    id = "local"
    is_local = True

    def __init__(self, host: Host, workspace: str) -> None:
        self._host = host
        self._table: Table | None = None
        self._children: list[Child] = []
        self._carried: dict[str, Carried] = {}
        self._shell = ""
        self.workspace = os.path.realpath(os.path.expanduser(workspace or os.curdir))

    def resolve(self, path: str) -> str:
        return os.path.realpath(files.expand(path, self.workspace))

    async def stat(self, path: str) -> FileStat:
        return files.facts(files.expand(path, self.workspace), path)

    async def list(self, path: str) -> Sequence[str]:
        folder = files.expand(path, self.workspace)
        if files.facts(folder, path).size < INLINE_FOLDER_BYTES:
            return files.names(folder, path)
        return await threads.in_thread(lambda: files.names(folder, path))

    async def read(self, path: str, *, limit: int = 50_000_000) -> bytes:
        file = files.expand(path, self.workspace)
        # A size of 0 may be a lie: files of /proc say so, and some of them block.
        if 0 < files.facts(file, path).size < INLINE_BYTES:
            return files.read(file, path, limit=limit)
        return await threads.in_thread(lambda: files.read(file, path, limit=limit))

    async def write(self, path: str, data: bytes, *, expected: FileStat | None = None) -> FileStat:
        file = files.expand(path, self.workspace)
        return await threads.in_thread(lambda: files.replace(file, path, data, expected=expected))

    async def remove(self, path: str) -> None:
        files.remove(files.expand(path, self.workspace), path)

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
        from . import shell
        from .child import Child
        from .output import Capture

        carried = self._carried.get(session_key) or shell.Carried(self.workspace)
        folder = self._folder(cwd, carried.cwd)
        variables = self._variables(folder, env, carried.variables)
        state = ""
        if isinstance(command, str):
            program = self._program()
            if session_key and not shell.is_powershell(program):
                state = self._state_file()
            command = shell.argv(program, command, state=state)
        capture = Capture(output_limit, self._host.paths.cache / "output")
        try:
            child = Child(command, capture.feed, cwd=folder, env=variables, stdin=stdin)
            self._remember(child)
            stopped = await child.finish(self._host.clock, timeout, cancelled)
            after = shell.read_state(state, variables, carried) if state else carried
        finally:
            captured = capture.finish()
            _unlink(state)
        if session_key:
            kept = carried.cwd if cwd else after.cwd
            self._carry(session_key, shell.Carried(kept, after.variables))
        return ExecResult(
            output=captured.text,
            exit_code=None if stopped else child.exit_code,
            timed_out=stopped == "timeout",
            cancelled=stopped == "cancelled",
            omitted_chars=captured.omitted,
            spilled_to=captured.spilled_to,
            cwd=after.cwd if state else folder,
        )

    async def start(
        self,
        command: str,
        *,
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        session_key: str = "",
    ) -> LocalProcess:
        from . import shell
        from .background import Table
        from .child import Child

        carried = self._carried.get(session_key) or shell.Carried(self.workspace)
        folder = self._folder(cwd, carried.cwd)
        variables = self._variables(folder, env, carried.variables)
        program = self._program()
        if self._table is None:
            self._table = Table(self._host.clock)

        def launch(process: LocalProcess) -> Child:
            argv = shell.argv(program, command)
            child = Child(argv, process.rolling.feed, cwd=folder, env=variables, keep_input=True)
            self._remember(child)
            return child

        return self._table.add(command, launch)

    def processes(self) -> Sequence[LocalProcess]:
        return self._table.rows() if self._table is not None else ()

    async def close(self) -> None:
        import asyncio

        # Also commands that ended and left something behind, which holds their output.
        remaining = [child for child in self._children if not child.silent]
        self._children.clear()
        await asyncio.gather(*(child.end(self._host.clock) for child in remaining))

    def _program(self) -> str:
        """The shell; of the host's own variables, because a session may have broken its PATH."""
        if not self._shell:
            from . import shell

            configured = self._host.section(Settings).shell
            self._shell = shell.choose(configured, self._host.child_environment())
        return self._shell

    def _folder(self, given: str, carried: str) -> str:
        """Where a command starts; a carried folder that is gone gives way to the workspace."""
        if not given:
            return carried if os.path.isdir(carried) else self.workspace
        folder = files.expand(given, self.workspace)
        if not os.path.isdir(folder):
            raise ToolError(f"{given}: no such folder.")
        return os.path.normpath(folder)

    def _variables(
        self, folder: str, env: Mapping[str, str] | None, carried: Mapping[str, str | None]
    ) -> dict[str, str]:
        from . import shell

        variables = self._host.child_environment()
        shell.apply(variables, carried)
        variables.update(env or {})
        variables["PWD"] = folder  # or a program that trusts it works in the host's folder
        return variables

    def _state_file(self) -> str:
        """A file that only its owner can read; what is exported may be secret."""
        folder = self._host.paths.cache / "shell"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            name = str(folder / f"{os.getpid()}-{os.urandom(6).hex()}")
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except OSError:  # a command without memory is better than none
            return ""
        return name

    def _carry(self, session_key: str, carried: Carried) -> None:
        self._carried.pop(session_key, None)
        self._carried[session_key] = carried
        while len(self._carried) > MAX_SESSIONS:
            del self._carried[next(iter(self._carried))]

    def _remember(self, child: Child) -> None:
        self._children = [other for other in self._children if not other.silent]
        self._children.append(child)


def _unlink(path: str) -> None:
    if path:
        try:
            os.unlink(path)
        except OSError:
            pass
