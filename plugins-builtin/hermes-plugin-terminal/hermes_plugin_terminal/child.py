"""One running command: its process group, the thread that reads it, and how it is ended.

A thread of our own and not asyncio's subprocesses: those wait for the end of the pipe, which a
grandchild may hold for ever, and differ from one Python to the next.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from hermes_plugins import Cancelled, Clock, ToolError

from . import threads

if sys.platform == "win32":
    from . import windows as system
else:
    from . import posix as system

Stopped: TypeAlias = Literal["", "timeout", "cancelled"]

GRACE = 2.0
"""Seconds between asking a group to end and ending it."""


def _not_started(program: str, error: OSError | ValueError) -> ToolError:
    if isinstance(error, OSError) and error.errno == errno.E2BIG:
        return ToolError(
            "the command is too long for the system.", hint="Write it to a file and run that."
        )
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return ToolError(f"{program}: {(reason or str(error)).lower()}.")


class Child:
    """Starts the command. Make it, and use it, in a running loop.

    ``feed`` gets the output in the reading thread, also what comes after the command's end from
    something that it left behind. ``stdin`` is written and closed; ``keep_input`` leaves it open.

    Raises:
        ToolError: the command could not be started.
    """

    def __init__(
        self,
        argv: Sequence[str],
        feed: Callable[[bytes], None],
        *,
        cwd: str,
        env: Mapping[str, str],
        stdin: str | None = None,
        keep_input: bool = False,
    ) -> None:
        self._feed = feed
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self._woken = asyncio.Event()  # by its end, or because it should end
        self._on_end: list[Callable[[], None]] = []
        self.ended = False
        self.silent = False
        """True once nothing holds its output any more."""
        try:
            self._popen = system.spawn(
                argv, cwd=cwd, env=env, piped_input=keep_input or stdin is not None
            )
        except (OSError, ValueError) as error:  # ValueError: a zero byte in an argument
            raise _not_started(argv[0], error) from None
        self.pid = self._popen.pid
        threading.Thread(target=self._read, name=f"hermes-read-{self.pid}", daemon=True).start()
        if stdin is not None:
            threading.Thread(target=self._type, args=(stdin,), daemon=True).start()

    @property
    def exit_code(self) -> int | None:
        """None while it runs; 128 + N when signal N ended it, as shells say it."""
        code = self._popen.returncode if self.ended else None
        return 128 - code if code is not None and code < 0 else code

    def on_end(self, callback: Callable[[], None]) -> None:
        """Have ``callback`` called in the loop's thread when the command has ended."""
        self._on_end.append(callback)

    async def wait(self) -> None:
        """Return when the command has ended and its output was fed."""
        await self._over.wait()

    async def finish(self, clock: Clock, timeout: float, cancelled: Cancelled | None) -> Stopped:
        """Wait for the end, or bring it about; tells what did.

        The group is ended too when this task is cancelled, before the cancellation is passed on.
        """
        if cancelled is not None:
            cancelled.on_set(self._cancel)
        try:
            async with clock.timeout(timeout):
                await self._woken.wait()
        except TimeoutError:
            if self.ended:
                return ""
            await self.end(clock)
            return "timeout"
        except BaseException:
            await self.end(clock)
            raise
        if self.ended:
            return ""
        await self.end(clock)
        return "cancelled"

    async def end(self, clock: Clock) -> None:
        """End it and everything in its process group: ask, wait `GRACE`, insist."""
        try:
            system.terminate(self._popen)
            await self._ended_within(clock, GRACE)
        finally:  # also the members of the group that did not listen
            system.kill(self._popen)
        await self._ended_within(clock, GRACE)  # a process inside the kernel cannot even be killed

    def kill(self) -> None:
        """End it and everything in its process group, at once."""
        system.kill(self._popen)

    def write(self, data: bytes) -> None:
        """Write to its standard input; blocks while it does not read.

        Raises:
            OSError: it has closed its end.
            ValueError: ours is closed.
        """
        if self._popen.stdin is None:
            raise ValueError("no standard input")
        view = memoryview(data)
        while view:
            view = view[self._popen.stdin.write(view) or 0 :]

    def close_input(self) -> None:
        """Close its standard input."""
        if self._popen.stdin is not None:
            with contextlib.suppress(OSError):
                self._popen.stdin.close()

    async def _ended_within(self, clock: Clock, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with clock.timeout(seconds):
                await self.wait()

    def _read(self) -> None:
        silent = system.read_until_end(self._popen, self._feed)
        threads.post(self._loop, self._settle)
        if not silent:
            with contextlib.suppress(OSError):
                system.follow(self._popen, self._feed)
        assert self._popen.stdout is not None
        self._popen.stdout.close()
        self.silent = True

    def _type(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self.write(text.encode("utf-8", "surrogateescape"))
        self.close_input()

    def _settle(self) -> None:
        self.ended = True
        self._over.set()
        self._woken.set()
        for callback in self._on_end:
            callback()

    def _cancel(self) -> None:
        threads.post(self._loop, self._woken.set)
