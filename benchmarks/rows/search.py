"""Search over many messages, and how big the file is: runs search_bench.py and reads what it says.

hermes-agent gets the same texts and the same queries through its own store; the others search nothing.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.bench import PROGRAMS, Bench
from benchmarks.installs import PEERS, python_of, venv_with
from benchmarks.measure import Command, NotRun, run
from benchmarks.table import Figure, Row

SOME = 200_000
ALL = 1_000_000
PROGRAM = PROGRAMS.parent / "search_bench.py"
SECONDS = 3600.0


class _Said(msgspec.Struct):
    median: Figure
    p95: Figure
    ratio: Figure


def rows(bench: Bench) -> Iterator[Row]:
    """Median and 95th percentile of the queries, and the size of the database."""
    count = ALL if bench.full else SOME
    ours = _said(_command(bench, count))
    theirs: dict[str, _Said] = {}
    for peer in bench.peers:
        if peer.name == "hermes-agent":
            theirs[peer.name] = _said(_peer_command(bench, count))
    note = "" if bench.full else f"the target is for {ALL:,}: --full"
    what = f"search, {count:,} messages"
    yield Row(
        figure=f"{what}, median",
        unit="ms",
        digits=1,
        target=15,
        measured=ours.median,
        peers={name: said.median for name, said in theirs.items()},
        note=note,
    )
    yield Row(
        figure=f"{what}, 95 of 100",
        unit="ms",
        digits=1,
        target=50,
        measured=ours.p95,
        peers={name: said.p95 for name, said in theirs.items()},
        note=note,
    )
    yield Row(
        figure="database bytes per byte of text",
        unit="",
        target=2.5,
        measured=ours.ratio,
        peers={name: said.ratio for name, said in theirs.items()},
    )


def _said(command: Command) -> _Said:
    """What the program printed at its end."""
    try:
        output = run(command).output
        median, p95 = _numbers(r"all of these\s+([\d.]+)\s+([\d.]+)", output)
        (ratio,) = _numbers(r"file \d+ MB: ([\d.]+)", output)
    except NotRun as reason:
        return _Said(median=str(reason), p95=str(reason), ratio=str(reason))
    return _Said(median=median, p95=p95, ratio=ratio)


def _command(bench: Bench, count: int) -> Command:
    argv = [sys.executable, str(PROGRAM), "--messages", str(count)]
    env = {**bench.hermes.place.env({}), "TMPDIR": str(bench.folder)}
    return Command(argv=argv, env=env, cwd=bench.folder, seconds=SECONDS)


def _peer_command(bench: Bench, count: int) -> Command:
    texts = bench.folder / "texts.jsonl"
    write_texts(texts, count)
    python = python_of(venv_with(PEERS["hermes-agent"]))
    program = PROGRAMS / "hermes_agent_search.py"
    database = bench.folder / "hermes-agent.db"
    return Command(
        argv=[str(python), str(program), str(texts), str(database)],
        env=bench.hermes.place.env({}),
        cwd=bench.folder,
        seconds=SECONDS,
    )


def write_texts(file: Path, count: int) -> None:
    """The queries and messages of search_bench.py, as programs/hermes_agent_search.py reads them."""
    from benchmarks.search_bench import SESSION, Language, chinese, latin

    rng = random.Random(1)
    west = Language(rng, latin(rng), 50_000, " ")
    east = Language(rng, chinese(rng), 20_000, "")
    queries = [*west.draw(200), *west.words[:20], *east.draw(200), *east.words[:20]]
    mixed = random.Random(3)
    with file.open("wb") as lines:
        lines.write(msgspec.json.encode(queries) + b"\n")
        for _ in range(count // SESSION):
            texts = [(west, east)[mixed.random() < 0.3].text() for _ in range(SESSION)]
            lines.write(msgspec.json.encode(texts) + b"\n")


def _numbers(pattern: str, output: str) -> tuple[float, ...]:
    found = re.search(pattern, output)
    if found is None:
        raise NotRun(f"{PROGRAM.name} did not say {pattern!r}")
    return tuple(map(float, found.groups()))
