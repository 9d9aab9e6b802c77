"""Process groups and pipes on Linux and macOS. Imported by ``child.py`` on these systems only."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

assert sys.platform != "win32"

import select  # noqa: E402
import signal  # noqa: E402

_CHUNK = 65_536
_CHUNKS_AT_ONCE = 16  # 1 MiB: the most that a pipe holds on Linux (pipe(7))


def spawn(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], piped_input: bool
) -> subprocess.Popen[bytes]:
    """Start a command in a session and process group of its own."""
    return subprocess.Popen(
        argv,
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE if piped_input else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        start_new_session=True,
    )


def terminate(popen: subprocess.Popen[bytes]) -> None:
    """Ask the whole group to end."""
    _signal(popen, signal.SIGTERM)


def kill(popen: subprocess.Popen[bytes]) -> None:
    """End the whole group."""
    _signal(popen, signal.SIGKILL)


def read_until_end(popen: subprocess.Popen[bytes], feed: Callable[[bytes], None]) -> bool:
    """Feed what is printed until the command has ended and what it left in the pipe is read.

    False when something that it started still holds the pipe; `follow` reads on.
    """
    assert popen.stdout is not None
    pipe = popen.stdout.fileno()
    os.set_blocking(pipe, False)
    poller = select.poll()
    poller.register(pipe, select.POLLIN)
    death = _death_of(popen.pid)
    if death >= 0:
        poller.register(death, select.POLLIN)
    try:
        while True:
            poller.poll(None if death >= 0 else 100)
            ended = popen.poll() is not None  # before reading, so that nothing is missed
            if _read_what_is_there(pipe, feed):
                popen.wait()
                return True
            if ended:
                return False
    finally:
        if death >= 0:
            os.close(death)


def follow(popen: subprocess.Popen[bytes], feed: Callable[[bytes], None]) -> None:
    """Feed what is printed until the last holder of the pipe has closed it."""
    assert popen.stdout is not None
    os.set_blocking(popen.stdout.fileno(), True)
    while data := os.read(popen.stdout.fileno(), _CHUNK):
        feed(data)


def _read_what_is_there(pipe: int, feed: Callable[[bytes], None]) -> bool:
    """True at the end of the stream. Bounded, so that a flood cannot hide the command's end."""
    with contextlib.suppress(BlockingIOError):
        for _ in range(_CHUNKS_AT_ONCE):
            data = os.read(pipe, _CHUNK)
            if not data:
                return True
            feed(data)
    return False


def _death_of(pid: int) -> int:
    """A descriptor that becomes readable when the process ends, -1 where there is none."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # Linux before 5.3, or a sandbox
            return os.pidfd_open(pid)
    return -1


def _signal(popen: subprocess.Popen[bytes], number: signal.Signals) -> None:
    # macOS says "not permitted" of a group whose members have all ended.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(popen.pid, number)
