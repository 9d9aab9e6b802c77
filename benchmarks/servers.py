"""Runs a server and tells what it costs while it lives: CPU and memory of it and its children.

From /proc, so on Linux only.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measure import Command, NotRun

READY_SECONDS = 60.0
"""What a server gets to answer its first health check."""


class Server:
    """A server that runs."""

    def __init__(self, process: subprocess.Popen[bytes], url: str) -> None:
        self._process = process
        self.url = url

    def cpu(self) -> float:
        """Seconds so far, user and system."""
        ticks = 0
        for pid in self._pids():
            ticks += sum(map(int, _stat(pid)[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def rss(self) -> int:
        """Bytes now."""
        return self._memory("VmRSS")

    def peak(self) -> int:
        """Bytes at the worst moment so far."""
        return self._memory("VmHWM")

    @contextmanager
    def watched(self) -> Iterator[list[float]]:
        """Ask for its health ten times a second meanwhile; how long each answer took, in seconds."""
        waits: list[float] = []
        done = threading.Event()

        def look() -> None:
            while not done.wait(0.1):
                start = time.perf_counter()
                with urllib.request.urlopen(f"{self.url}/health", timeout=120) as answer:
                    answer.read()
                waits.append(time.perf_counter() - start)

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield waits
        finally:
            done.set()
            thread.join(timeout=120)

    def _memory(self, name: str) -> int:
        total = 0
        for pid in self._pids():
            for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
                if line.startswith(name):
                    total += int(line.split()[1]) * 1024
        return total

    def _pids(self) -> list[int]:
        """Its own process and all that came from it."""
        parents = {int(path.name): _parent(path) for path in Path("/proc").glob("[0-9]*")}
        found = [self._process.pid]
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found


@contextmanager
def serving(command: Command, port: int) -> Iterator[Server]:
    """The server, once it answers ``/health``.

    Raises:
        NotRun: this is not Linux, or it did not come up.
    """
    if not Path("/proc/self/status").exists():
        raise NotRun("this system has no /proc")
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            command.argv,
            env=dict(command.env),
            cwd=command.cwd,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _wait(process, f"{url}/health", out)
            yield Server(process, url)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def free_port() -> int:
    """A port of loopback that nobody has now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], url: str, out: object) -> None:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            if process.poll() is not None:
                break
            time.sleep(0.01)
    raise NotRun(f"it did not answer: {_last_line(out)}")


def _last_line(out: object) -> str:
    assert hasattr(out, "seek")
    assert hasattr(out, "read")
    out.seek(0)
    lines = [line.strip() for line in out.read().decode("utf-8", "replace").splitlines()]
    return next((line[:200] for line in reversed(lines) if line), "it said nothing")


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat behind the name (proc(5)); [11:15] are the four of CPU time."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ["0"] * 20
    return text.rpartition(")")[2].split()


def _parent(path: Path) -> int:
    return int(_stat(int(path.name))[1])
