"""Process trees and pipes on Windows. Imported by ``child.py`` on that system only."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

assert sys.platform == "win32"

import _winapi  # noqa: E402
import msvcrt  # noqa: E402
import os  # noqa: E402

_CHUNK = 65_536
_PAUSE = 0.05


def spawn(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], piped_input: bool
) -> subprocess.Popen[bytes]:
    """Start a command in a process group of its own, without a window."""
    return subprocess.Popen(
        argv,
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE if piped_input else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        creationflags=subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW,
    )


def terminate(popen: subprocess.Popen[bytes]) -> None:
    """End the tree: a console program without a window cannot be asked."""
    kill(popen)


def kill(popen: subprocess.Popen[bytes]) -> None:
    """End the process and its descendants; taskkill finds those while the parent lives."""
    if popen.returncode is None:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                ["taskkill", "/T", "/F", "/PID", str(popen.pid)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=5,
                creationflags=subprocess.CREATE_NO_WINDOW,
            )
        with contextlib.suppress(OSError):
            popen.kill()


def read_until_end(popen: subprocess.Popen[bytes], feed: Callable[[bytes], None]) -> bool:
    """Feed what is printed until the command has ended and what it left in the pipe is read.

    False when something that it started still holds the pipe; `follow` reads on.
    """
    assert popen.stdout is not None
    pipe = popen.stdout.fileno()
    handle = msvcrt.get_osfhandle(pipe)
    while True:
        ended = popen.poll() is not None  # before reading, so that nothing is missed
        try:
            waiting = _winapi.PeekNamedPipe(handle, 0)[0]
        except BrokenPipeError:
            popen.wait()
            return True
        if waiting:
            feed(os.read(pipe, _CHUNK))  # does not block: gives what is there
        elif ended:
            return False
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                popen.wait(_PAUSE)


def follow(popen: subprocess.Popen[bytes], feed: Callable[[bytes], None]) -> None:
    """Feed what is printed until the last holder of the pipe has closed it."""
    assert popen.stdout is not None
    while data := os.read(popen.stdout.fileno(), _CHUNK):
        feed(data)
