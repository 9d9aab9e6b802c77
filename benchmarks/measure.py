"""Runs a child and tells what it cost: CPU (user + system) and peak memory of the whole process.

A tiny launcher (programs/launch.py) stands between us and the child: on Linux the peak memory of a
process starts at that of the process which spawned it, and the launcher's is less than anything we
measure. Children only: what the scripted server and this program use is not in the figures. Needs
``os.wait4``, so not on Windows.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

LAUNCHER = Path(__file__).parent / "programs" / "launch.py"
Key = TypeVar("Key")


class NotRun(Exception):
    """Raised when something cannot be measured here; its text is the reason, in one line."""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A child to run."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    typed: str | None = None
    """What is typed at a terminal that is the child's stdin, stdout and stderr; None: no terminal."""
    prepare: Callable[[], None] | None = None
    """Done before each run; not measured."""
    expect: str = ""
    """What its output has to contain; without it the work was not done."""
    seconds: float = 300.0
    """After so long it is killed."""


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What one run took: seconds of CPU, bytes of peak memory, seconds on the wall."""

    cpu: float
    peak: int
    wall: float
    output: str = ""


class Costs(msgspec.Struct, frozen=True):
    """Several runs of one command."""

    runs: Sequence[Cost]

    @property
    def cpu(self) -> float:
        """Seconds, median."""
        return statistics.median(run.cpu for run in self.runs)

    @property
    def peak(self) -> float:
        """Bytes, median."""
        return statistics.median(run.peak for run in self.runs)

    @property
    def spread(self) -> float:
        """Seconds of CPU between the quartiles."""
        if len(self.runs) < 2:
            return 0.0
        low, _, high = statistics.quantiles((run.cpu for run in self.runs), n=4)
        return high - low


def run(command: Command) -> Cost:
    """Run it to its end.

    Raises:
        NotRun: it cannot be started, failed or took too long.
    """
    if not hasattr(os, "wait4"):
        raise NotRun("this system has no wait4")
    if command.prepare is not None:
        command.prepare()
    with tempfile.TemporaryDirectory() as name:
        usage = Path(name) / "usage.json"
        argv = [sys.executable, "-I", "-S", str(LAUNCHER), str(usage), *command.argv]
        start = time.perf_counter()
        output = _at_terminal(command, argv) if command.typed else _piped(command, argv)
        wall = time.perf_counter() - start
        if wall >= command.seconds:
            raise NotRun(_reason(f"killed after {command.seconds:g} s", output))
        if not usage.exists():
            raise NotRun(_reason("it did not start", output))
        told = msgspec.json.decode(usage.read_bytes(), type=_Usage)
    if told.status != 0:
        raise NotRun(_reason(f"exit status {told.status}", output))
    if command.expect not in output:
        raise NotRun(_reason(f"{command.expect!r} is not in its output", output))
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(cpu=told.cpu, peak=told.peak * unit, wall=wall, output=output)


def run_interleaved(
    commands: Mapping[Key, Command], times: int, *, fewer: Iterable[Key] = (), fewer_times: int = 3
) -> dict[Key, Costs | NotRun]:
    """Run each once to warm its caches, then all of them in turn, ``times`` times.

    What the machine does beside them falls on all alike. The ``fewer`` ones (the slow ones) run only
    ``fewer_times`` times. A command that fails once is not run again.
    """
    costs: dict[Key, list[Cost]] = {key: [] for key in commands}
    failed: dict[Key, NotRun] = {}
    slow = set(fewer)
    for turn in range(times + 1):
        for key, command in commands.items():
            if key in failed or (key in slow and turn > fewer_times):
                continue
            try:
                cost = run(command)
            except NotRun as reason:
                failed[key] = reason
                continue
            if turn:
                costs[key].append(cost)
    return {key: failed.get(key) or Costs(runs) for key, runs in costs.items()}


class _Usage(msgspec.Struct):
    status: int
    cpu: float
    peak: int


def _piped(command: Command, argv: Sequence[str]) -> str:
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(
            argv,
            env=dict(command.env),
            cwd=command.cwd,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        _wait(child, command.seconds)
        out.seek(0)
        return out.read().decode("utf-8", "replace")


def _at_terminal(command: Command, argv: Sequence[str]) -> str:
    ours, theirs = os.openpty()
    child = subprocess.Popen(
        argv,
        env=dict(command.env),
        cwd=command.cwd,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = bytearray()

    def read() -> None:
        try:
            while piece := os.read(ours, 65536):
                shown.extend(piece)
        except OSError:
            return  # Linux says EIO when the last writer has closed the terminal

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    os.write(ours, (command.typed or "").encode())
    _wait(child, command.seconds)
    reader.join(timeout=5)
    os.close(ours)
    return shown.decode("utf-8", "replace")


def _wait(child: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _reason(what: str, output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f"{what}: {lines[-1][:200]}" if lines else what
