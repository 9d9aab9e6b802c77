"""What a streamed token costs, from the socket to the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bench import Bench
from benchmarks.measure import NotRun
from benchmarks.rows.startup import peers_of
from benchmarks.rows.turns import a_turn
from benchmarks.table import Figure, Row

COUNT = 20_000
OPENAI = 91.0
"""Microseconds a delta that openai's client took when the target was set; used when it cannot be run."""


def rows(bench: Bench) -> Iterator[Row]:
    """20,000 deltas of one token, beside openai's client that only iterates."""
    sides = []
    for model in (f"deltas-{COUNT}", "say"):
        mine = {"hermes": bench.hermes.talk(model)}
        missing: NotRun | None = None
        try:
            mine["openai"] = bench.program("openai_deltas.py", bench.url, model, python=bench.openai)
        except NotRun as reason:
            missing = reason
        sides.append(bench.compare(mine, lambda peer, m=model: peer.ask(m), times=5))
    figures = {name: _micro(a_turn(long, sides[1][name], COUNT)) for name, long in sides[0].items()}
    yardstick = figures.get("openai", str(missing))
    used = yardstick if isinstance(yardstick, float) else OPENAI
    yield Row(
        figure="20,000 deltas of a token, plain face, CPU",
        unit="us each",
        digits=1,
        target=used / 5,
        measured=figures["hermes"],
        floor=yardstick,
        peers=peers_of(figures, "hermes", "openai"),
        note="floor: openai's client only iterating; to reach: a fifth of it",
    )


def _micro(milliseconds: Figure) -> Figure:
    return milliseconds if isinstance(milliseconds, str) else milliseconds * 1000
