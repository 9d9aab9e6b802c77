"""Starting, and the shortest useful run."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from benchmarks.bench import Bench, figures, theirs
from benchmarks.candidates import asking
from benchmarks.measure import Costs, NotRun, run, run_interleaved
from benchmarks.table import Row

MEGABYTE = 1e6


def version(bench: Bench) -> Iterator[Row]:
    """``--version``."""
    costs = bench.compare({"": lambda one: one.show_version()}, times=15)[""]
    cpu = figures(costs, lambda cost: cost.cpu)
    yield Row(
        figure="--version, CPU",
        unit="s",
        digits=3,
        target=0.06,
        measured=cpu["hermes"],
        peers=theirs(cpu),
    )


LINES = ("hermes plu", "hermes plugins info f", "hermes --resume ", "hermes -m o")
"""What is completed: a command, and three values."""


def tab(bench: Bench) -> Iterator[Row]:
    """One Tab in a shell: the dearest of a few."""
    hermes = bench.fresh_hermes("tab")
    run(asking("say")(hermes))  # a session to offer, and providers that have been loaded once
    commands = {}
    for line in LINES:
        command = hermes.call()
        variables = {
            "COMP_WORDS": line,
            "COMP_CWORD": line.rpartition(" ")[2],
            "_HERMES_COMPLETE": "fish_complete",
        }
        env = {**command.env, **variables}
        commands[line] = msgspec.structs.replace(command, env=env, expect="plain,")
    costs = run_interleaved(commands, times=15).values()
    failed = [str(cost) for cost in costs if isinstance(cost, NotRun)]
    cpu = [cost.cpu for cost in costs if isinstance(cost, Costs)]
    yield Row(
        figure="one completion in a shell, CPU",
        unit="s",
        digits=3,
        target=0.15,
        measured=failed[0] if failed else max(cpu),
    )


def question(bench: Bench) -> Iterator[Row]:
    """One question, one answer; with settings of the environment, and with a hermes.yaml."""
    floor = bench.program("question.py", bench.url, str(bench.folder / "question.db"))
    configured = bench.fresh_hermes("configured")
    configured.configure({"display": {"show_reasoning": False}, "agent": {"max_turns": 60}})
    ask = asking("say")
    beside = {("", "floor"): floor, ("", "configured"): ask(configured)}
    costs = bench.compare({"": ask}, times=15, beside=beside)[""]
    cpu = figures(costs, lambda cost: cost.cpu)
    peak = figures(costs, lambda cost: cost.peak / MEGABYTE)
    hermes = costs["hermes"]
    yield Row(
        figure="one question, one answer, CPU",
        unit="s",
        digits=3,
        target=0.32,
        measured=cpu["hermes"],
        floor=cpu["floor"],
        peers=theirs(cpu),
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
        peers=theirs(peak),
    )
