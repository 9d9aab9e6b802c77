"""Search over many messages, and how big the file is: runs search_bench.py and reads what it says."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measure import Command, NotRun, run
from benchmarks.table import Figure, Row

SOME = 200_000
ALL = 1_000_000
PROGRAM = Path(__file__).parent.parent / "search_bench.py"


def rows(bench: Bench) -> Iterator[Row]:
    """Median and 95th percentile of the queries, and the size of the database."""
    count = ALL if bench.full else SOME
    median: Figure
    p95: Figure
    ratio: Figure
    try:
        output = run(_command(bench, count)).output
        median, p95 = _numbers(r"all of these\s+([\d.]+)\s+([\d.]+)", output)
        (ratio,) = _numbers(r"file \d+ MB: ([\d.]+)", output)
    except NotRun as reason:
        median = p95 = ratio = str(reason)
    note = "" if bench.full else "the target is for 1,000,000: --full"
    what = f"search, {count:,} messages"
    yield Row(figure=f"{what}, median", unit="ms", digits=1, target=15, measured=median, note=note)
    yield Row(figure=f"{what}, 95 of 100", unit="ms", digits=1, target=50, measured=p95, note=note)
    yield Row(
        figure="database bytes per byte of text", unit="", digits=2, target=2.5, measured=ratio
    )


def _command(bench: Bench, count: int) -> Command:
    argv = [sys.executable, str(PROGRAM), "--messages", str(count)]
    env = {**bench.hermes.place.env({}), "TMPDIR": str(bench.folder)}
    return Command(argv=argv, env=env, cwd=bench.folder, seconds=1800.0)


def _numbers(pattern: str, output: str) -> tuple[float, ...]:
    found = re.search(pattern, output)
    if found is None:
        raise NotRun(f"{PROGRAM.name} did not say {pattern!r}")
    return tuple(map(float, found.groups()))
