"""Starting, and the shortest useful run."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bench import Bench
from benchmarks.candidates import asking
from benchmarks.measure import Costs
from benchmarks.table import Figure, Row

MEGABYTE = 1e6
OURS = ("hermes", "floor", "configured")


def peers_of(figures: dict[str, Figure], *ours: str) -> dict[str, Figure]:
    """The figures that are not ours."""
    return {name: figure for name, figure in figures.items() if name not in ours}


def version(bench: Bench) -> Iterator[Row]:
    """``--version``."""
    costs = bench.compare({"": lambda one: one.show_version()}, times=15)[""]
    cpu = bench.figures(costs, lambda cost: cost.cpu)
    yield Row(
        figure="--version, CPU",
        unit="s",
        digits=3,
        target=0.06,
        measured=cpu["hermes"],
        peers=peers_of(cpu, "hermes"),
    )


def question(bench: Bench) -> Iterator[Row]:
    """One question, one answer; with settings of the environment, and with a hermes.yaml."""
    floor = bench.program("question.py", bench.url, str(bench.folder / "question.db"))
    configured = bench.fresh_hermes("configured")
    configured.configure({"display": {"show_reasoning": False}, "agent": {"max_turns": 60}})
    ask = asking("say")
    beside = {("", "floor"): floor, ("", "configured"): ask(configured)}
    costs = bench.compare({"": ask}, times=15, beside=beside)[""]
    cpu = bench.figures(costs, lambda cost: cost.cpu)
    peak = bench.figures(costs, lambda cost: cost.peak / MEGABYTE)
    hermes = costs["hermes"]
    yield Row(
        figure="one question, one answer, CPU",
        unit="s",
        digits=3,
        target=0.32,
        measured=cpu["hermes"],
        floor=cpu["floor"],
        peers=peers_of(cpu, *OURS),
        note=f"quartiles {hermes.spread:.3f} s apart" if isinstance(hermes, Costs) else "",
    )
    yield Row(
        figure="the same with a hermes.yaml",
        unit="s",
        digits=3,
        target=0.32,
        measured=cpu["configured"],
        floor=cpu["floor"],
    )
    yield Row(
        figure="peak memory of that",
        unit="MB",
        digits=1,
        target=48,
        measured=peak["hermes"],
        floor=peak["floor"],
        peers=peers_of(peak, *OURS),
    )
