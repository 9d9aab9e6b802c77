"""What a tool really touched: an environment that notes it, and the check against its effects."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from hermes_plugins._effects import Effects
from hermes_plugins._environments import Environment, ExecResult, FileStat, Process
from hermes_plugins._tools import Cancelled

TouchKind: TypeAlias = Literal["read", "write", "list", "stat", "exec"]


class Touch(msgspec.Struct, frozen=True):
    """One access. ``target`` is a resolved path, or the command line; ``program`` its first word where
    it was an argument list, which no shell reads."""

    kind: TouchKind
    target: str
    program: str = ""


class RecordingEnvironment:
    """Implements `Environment` by passing everything on to another one, and noting it in ``touches``."""

    def __init__(self, inner: Environment) -> None:
        self.inner = inner
        self.id = inner.id
        self.workspace = inner.workspace
        self.is_local = inner.is_local
        self.touches: list[Touch] = []

    def resolve(self, path: str) -> str:
        return self.inner.resolve(path)

    async def stat(self, path: str) -> FileStat:
        self._note("stat", path)
        return await self.inner.stat(path)

    async def list(self, path: str) -> Sequence[str]:
        self._note("list", path)
        return await self.inner.list(path)

    async def read(self, path: str, *, limit: int = 50_000_000) -> bytes:
        self._note("read", path)
        return await self.inner.read(path, limit=limit)

    async def write(self, path: str, data: bytes, *, expected: FileStat | None = None) -> FileStat:
        self._note("write", path)
        return await self.inner.write(path, data, expected=expected)

    async def remove(self, path: str) -> None:
        self._note("write", path)
        await self.inner.remove(path)

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
        self._note_command(command)
        return await self.inner.exec(
            command,
            cwd=cwd,
            timeout=timeout,
            env=env,
            stdin=stdin,
            output_limit=output_limit,
            session_key=session_key,
            cancelled=cancelled,
        )

    async def start(
        self,
        command: str,
        *,
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        session_key: str = "",
    ) -> Process:
        self._note_command(command)
        return await self.inner.start(command, cwd=cwd, env=env, session_key=session_key)

    def processes(self) -> Sequence[Process]:
        return self.inner.processes()

    async def close(self) -> None:
        await self.inner.close()

    def _note(self, kind: TouchKind, path: str) -> None:
        self.touches.append(Touch(kind, self.inner.resolve(path)))

    def _note_command(self, command: str | Sequence[str]) -> None:
        if isinstance(command, str):
            self.touches.append(Touch("exec", command))
        else:
            self.touches.append(Touch("exec", " ".join(command), command[0]))


def undeclared(
    effects: Effects,
    touches: Iterable[Touch],
    environment: Environment,
    *,
    programs: Sequence[str] = (),
) -> list[str]:
    """The touches that the effects do not cover, one line each; empty is good.

    A declared folder covers what is in it, and ``Writes`` covers reading what will be replaced. Asking
    for facts or names is also free in the folders above a declared path, because that is how a
    path is found. A command is covered by ``Runs`` with its text, or by being an argument list of
    one of ``programs`` (a tool's own helpers, such as ``rg``).
    """
    writes = [_form(environment.resolve(path)) for path in effects.writes]
    reads = [*writes, *(_form(environment.resolve(path)) for path in effects.reads)]

    def covers(touch: Touch) -> bool:
        path = _form(touch.target)
        match touch.kind:
            case "exec":
                return touch.program in programs or any(run in touch.target for run in effects.runs)
            case "write":
                return any(_inside(path, known) for known in writes)
            case "read":
                return any(_inside(path, known) for known in reads)
            case _:
                return any(_inside(path, known) or _inside(known, path) for known in reads)

    return [f"{touch.kind} {touch.target}" for touch in touches if not covers(touch)]


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(
        folder.rstrip("/\\") + ("\\" if "\\" in folder else "/")
    )


def _form(path: str) -> str:
    """One spelling for names that differ in Unicode form only: they name one file."""
    return unicodedata.normalize("NFC", path)
