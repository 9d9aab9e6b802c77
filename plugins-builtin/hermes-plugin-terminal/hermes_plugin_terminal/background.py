"""Background processes of one environment."""

from __future__ import annotations

from collections.abc import Callable

from hermes_plugins import Clock, ToolError

from . import threads
from .child import Child
from .output import Rolling

MAX_RUNNING = 64
KEPT_SECONDS = 1800.0


class LocalProcess:
    """Implements `Process`."""

    def __init__(self, name: str, command: str, clock: Clock) -> None:
        self.id = name
        self.command = command
        self.pid = 0
        self.started = clock.now()
        self.ended_at: float | None = None
        """On the monotonic clock."""
        self.rolling = Rolling()
        self._clock = clock
        self._child: Child | None = None

    def attach(self, child: Child) -> None:
        """Give it the command that feeds ``rolling``."""
        self._child = child
        self.pid = child.pid
        child.on_end(self._note_end)

    @property
    def exit_code(self) -> int | None:
        return self._running.exit_code

    @property
    def is_running(self) -> bool:
        return not self._running.ended

    def output(self, *, since: int = 0) -> tuple[str, int]:
        return self.rolling.read(since)

    async def write(self, data: str) -> None:
        child = self._running
        if child.ended:
            raise ToolError(f"process {self.id} has ended.")
        try:
            await threads.in_thread(lambda: child.write(data.encode("utf-8", "surrogateescape")))
        except (OSError, ValueError):
            raise ToolError(f"process {self.id}: its standard input is closed.") from None

    async def close_input(self) -> None:
        self._running.close_input()

    async def wait(self) -> int | None:
        await self._running.wait()
        return self.exit_code

    async def kill(self) -> None:
        await self._running.end(self._clock)
        self._running.close_input()

    @property
    def _running(self) -> Child:
        assert self._child is not None
        return self._child

    def _note_end(self) -> None:
        self.ended_at = self._clock.monotonic()
        self._running.close_input()


class Table:
    """At most `MAX_RUNNING` that run; ended ones for `KEPT_SECONDS`, and as many."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._count = 0
        self._rows: list[LocalProcess] = []

    def add(self, command: str, launch: Callable[[LocalProcess], Child]) -> LocalProcess:
        """Start one.

        Raises:
            ToolError: too many run, or it could not be started.
        """
        if sum(row.is_running for row in self.rows()) >= MAX_RUNNING:
            raise ToolError(
                f"{MAX_RUNNING} background processes run already.", hint="End one of them first."
            )
        process = LocalProcess(f"p{self._count + 1}", command, self._clock)
        process.attach(launch(process))
        self._count += 1
        self._rows.append(process)
        return process

    def rows(self) -> list[LocalProcess]:
        """Those that are still known, oldest first."""
        oldest = self._clock.monotonic() - KEPT_SECONDS
        ended = [row for row in self._rows if row.ended_at is not None]
        kept = {id(row) for row in ended[-MAX_RUNNING:] if (row.ended_at or 0.0) >= oldest}
        self._rows = [row for row in self._rows if row.ended_at is None or id(row) in kept]
        return list(self._rows)
