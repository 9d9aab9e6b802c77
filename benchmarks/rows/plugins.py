"""What plugins cost that are installed and not used."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bench import Bench
from benchmarks.candidates import asking
from benchmarks.installs import copy_with_plugins
from benchmarks.measure import Costs, NotRun, run_interleaved
from benchmarks.table import Figure, Row

KINDS = (
    ("hermes.tools", 20),
    ("hermes.providers", 20),
    ("hermes.platforms", 10),
    ("hermes.services", 10),
)
"""All are enabled but the tools: an enabled tool set is there to be used."""


def rows(bench: Bench) -> Iterator[Row]:
    """``hermes chat -q`` with 60 more plugins, over the same without."""
    measured: Figure
    try:
        venv, names = copy_with_plugins(bench.venv, KINDS)
        more = bench.fresh_hermes("more-plugins", venv)
        less = bench.fresh_hermes("no-more-plugins")
        # Both read a hermes.yaml: reading one is not what is measured here.
        more.configure({"plugins": {"enabled": names[KINDS[0][1] :]}})
        less.configure({"plugins": {"enabled": []}})
        ask = asking("say")
        costs = run_interleaved({"with": ask(more), "without": ask(less)}, times=41)
        measured = _difference(costs["with"], costs["without"])
    except NotRun as reason:
        measured = str(reason)
    yield Row(
        figure="60 more plugins, installed and not used, CPU",
        unit="ms",
        digits=1,
        target=10,
        measured=measured,
    )


def _difference(more: Costs | NotRun, less: Costs | NotRun) -> Figure:
    if isinstance(more, NotRun):
        return str(more)
    if isinstance(less, NotRun):
        return str(less)
    return (more.cpu - less.cpu) * 1000
