"""What one more tool turn costs: the difference between a long and a short run, over their turns."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.bench import Bench, theirs
from benchmarks.candidates import answer_of, asking
from benchmarks.measure import Command, Costs, NotRun, run_interleaved
from benchmarks.table import Figure, Row

TURNS = 40
LENGTH = 500


def a_turn(long: Costs | NotRun, short: Costs | NotRun, turns: int = TURNS) -> Figure:
    """Milliseconds of CPU."""
    for cost in (long, short):
        if isinstance(cost, NotRun):
            return str(cost)
    assert isinstance(long, Costs)
    assert isinstance(short, Costs)
    return (long.cpu - short.cpu) / turns * 1000


def early(bench: Bench) -> Iterator[Row]:
    """Turns 20 to 60 of a read_file loop."""
    costs = bench.compare({"long": asking("read-60"), "short": asking("read-20")}, times=9)
    figures = {name: a_turn(long, costs["short"][name]) for name, long in costs["long"].items()}
    yield Row(
        figure="a tool turn adds, turns 20 to 60, CPU",
        unit="ms",
        digits=1,
        target=5,
        measured=figures["hermes"],
        peers=theirs(figures),
    )


def late(bench: Bench) -> Iterator[Row]:
    """The same after 500 turns, over what HTTP, encoding and SQLite alone cost at that length."""
    target = 2.0
    try:
        hermes, floor = _late(bench)
    except NotRun as reason:
        hermes, floor = str(reason), None
    above = hermes if isinstance(hermes, str) or not isinstance(floor, float) else hermes - floor
    yield Row(
        figure=f"a tool turn at turn {LENGTH}, over the floor, CPU",
        unit="ms",
        digits=1,
        target=target,
        measured=above,
        floor=floor,
        note="" if isinstance(hermes, str) else f"{hermes:.1f} ms in all",
    )


def _late(bench: Bench) -> tuple[Figure, Figure]:
    hermes = bench.fresh_hermes("late")
    body = bench.folder / "late.json"
    body.write_bytes(bench.requests_of(hermes.ask(f"kept-read-{LENGTH}"))[-1])
    kept = bench.folder / "late-kept"
    shutil.copytree(hermes.home, kept)

    def restore() -> None:
        shutil.rmtree(hermes.home)
        shutil.copytree(kept, hermes.home)

    def more(turns: int) -> Command:
        model = f"read-{turns}"
        command = hermes.call(
            "chat", "--continue", "-q", "On.", "--provider", "custom", "--model", model
        )
        return msgspec.structs.replace(command, prepare=restore, expect=answer_of(model))

    costs = run_interleaved(
        {
            "long": more(TURNS),
            "short": more(0),
            "floor long": _floor(bench, body, TURNS),
            "floor short": _floor(bench, body, 0),
        },
        times=7,
    )
    return (
        a_turn(costs["long"], costs["short"]),
        a_turn(costs["floor long"], costs["floor short"]),
    )


def _floor(bench: Bench, body: Path, turns: int) -> Command:
    database = bench.folder / "turns.db"
    command = bench.program("turns.py", bench.url, str(body), str(database), str(turns))
    return msgspec.structs.replace(command, prepare=lambda: database.unlink(missing_ok=True))
