"""What a streamed token costs, from the socket to the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bench import Bench, theirs
from benchmarks.candidates import asking
from benchmarks.measure import NotRun
from benchmarks.rows.turns import a_turn
from benchmarks.table import Figure, Row

COUNT = 20_000
OPENAI = 91.0
"""Microseconds a delta that openai's client took when the target was set; used when it cannot be run."""


def rows(bench: Bench) -> Iterator[Row]:
    """20,000 deltas of one token, beside openai's client that only iterates."""
    models = {"long": f"deltas-{COUNT}", "short": "say"}
    beside = {(variant, "hermes"): bench.hermes.talk(model) for variant, model in models.items()}
    missing = ""
    try:
        for variant, model in models.items():
            beside[variant, "openai"] = bench.program(
                "openai_deltas.py", bench.url, model, python=bench.openai
            )
    except NotRun as reason:
        missing = str(reason)
    asked = {variant: asking(model) for variant, model in models.items()}
    costs = bench.compare(asked, times=5, beside=beside)
    figures = {
        name: _micro(a_turn(long, costs["short"][name], COUNT))
        for name, long in costs["long"].items()
    }
    yardstick = figures.get("openai", missing)
    used = yardstick if isinstance(yardstick, float) else OPENAI
    yield Row(
        figure="20,000 deltas of a token, plain face, CPU",
        unit="us each",
        digits=1,
        target=used / 5,
        measured=figures["hermes"],
        floor=yardstick,
        peers=theirs(figures),
        note="floor: openai's client only iterating; to reach: a fifth of it",
    )


def _micro(milliseconds: Figure) -> Figure:
    return milliseconds if isinstance(milliseconds, str) else milliseconds * 1000
