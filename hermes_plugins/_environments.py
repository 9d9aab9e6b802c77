"""Environments: where commands run and files live (this machine, a container, another host).

A driver class in the group ``hermes.environments``, made once per session as ``cls(host, workspace)``.
File and terminal tools use nothing else, so they work the same in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import msgspec

if TYPE_CHECKING:
    from hermes_plugins._tools import Cancelled

FileKind: TypeAlias = Literal["file", "folder", "other", "missing"]


class FileStat(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a path. ``modified`` in nanoseconds since the epoch, ``mode`` the POSIX bits."""

    kind: FileKind
    size: int = 0
    modified: int = 0
    mode: int = 0
    is_link: bool = False


class ExecResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended. ``exit_code`` is None when it was killed or never started.

    ``output`` is standard output and error in the order they were written, decoded as UTF-8 with
    replacement, and at most ``output_limit`` characters: the head (40 %) and the tail (60 %), with
    a line in between that says how much is left out and where the whole of it is kept.
    """

    output: str
    exit_code: int | None
    timed_out: bool = False
    cancelled: bool = False
    omitted_chars: int = 0
    spilled_to: str = ""
    cwd: str = ""
    """Working directory after the command."""


class Process(Protocol):
    """A command that runs in the background."""

    id: str
    command: str
    pid: int
    started: float

    @property
    def exit_code(self) -> int | None:
        """None while it runs; 128 + N when signal N ended it."""

    def output(self, *, since: int = 0) -> tuple[str, int]:
        """What it printed from character ``since`` on, and where the next read starts."""

    async def write(self, data: str) -> None:
        """Send text to its standard input."""

    async def close_input(self) -> None:
        """Close its standard input."""

    async def wait(self) -> int | None:
        """Return its exit code when it has ended."""

    async def kill(self) -> None:
        """End it and everything it started."""


class Environment(Protocol):
    """Commands and files of one place.

    Errors are `ToolError` with the path or command and the reason. Paths may be relative (to the
    workspace), start with ``~``, and come in any Unicode normal form.
    """

    id: str
    workspace: str
    is_local: bool

    def resolve(self, path: str) -> str:
        """The canonical absolute path: ``~`` expanded, links followed as far as they exist.

        What the gate judges and what a handler opens both come from here; call it again at the
        time of use.
        """

    async def stat(self, path: str) -> FileStat:
        """Facts about ``path``; a missing one is an answer, not an error."""

    async def list(self, path: str) -> Sequence[str]:
        """Names in a folder, sorted; folders end with ``/``."""

    async def read(self, path: str, *, limit: int = 50_000_000) -> bytes:
        """The whole file. A larger one is an error that says so."""

    async def write(self, path: str, data: bytes, *, expected: FileStat | None = None) -> FileStat:
        """Replace the file whole, or not at all; makes missing folders.

        Links are written through, an existing file keeps its mode, a new one gets the umask's. With
        ``expected``, a file that changed since is left alone and the call fails.
        """

    async def remove(self, path: str) -> None:
        """Remove one file."""

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
        """Run a command (a shell line, or an argument list without a shell) and wait for its end.

        Standard input is closed unless ``stdin`` is given. On time-out or cancellation the whole
        process group is killed: when ``cancelled`` is set the call returns what was printed so far,
        when the calling task is cancelled it passes that on. Returns when the command ends, also
        when a child it left behind still holds its output. With ``session_key``, the working
        directory and exported variables of a shell line carry over to the next call with that key;
        a ``cwd`` given there counts for that call alone.
        """

    async def start(
        self,
        command: str,
        *,
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        session_key: str = "",
    ) -> Process:
        """Start a shell line in the background, with an open standard input.

        With ``session_key`` it starts from what carried over; nothing of it carries over.
        """

    def processes(self) -> Sequence[Process]:
        """The background processes of this environment, running and ended."""

    async def close(self) -> None:
        """End what still runs."""
