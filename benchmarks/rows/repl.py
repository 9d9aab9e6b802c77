"""The REPL in a terminal: until the first prompt, a long answer, and typing while it comes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence

from benchmarks.bench import Bench
from benchmarks.measure import NotRun
from benchmarks.table import Figure, Row

PROMPT = "approvals manual"
END = "The last line."
LINES = 5_000
EDGE = 1_000
"""Lines at the beginning and at the end of it that are compared."""
ROUNDS = 5
KEYS = 100
PAUSE = 0.02
"""Seconds between an echo and the next key."""
LETTERS = [chr(0x0410 + number) for number in range(KEYS)]
"""A letter for each key that stands nowhere else (Cyrillic, one column each)."""


def rows(bench: Bench) -> Iterator[Row]:
    """Four figures."""
    try:
        first = statistics.median(_first_prompt(bench) for _ in range(ROUNDS + 1))
        costs = _costs(bench, (0, EDGE, LINES - EDGE, LINES))
        delays: Figure = _delay(bench)
    except (NotRun, ImportError) as reason:
        yield Row(figure="REPL", unit="", target=None, measured=str(reason) or "not run")
        return
    line = 1000 * (costs[LINES] - costs[0]) / LINES
    begin, end = costs[EDGE] - costs[0], costs[LINES] - costs[LINES - EDGE]
    yield Row(figure="REPL, first prompt, CPU", unit="s", digits=3, target=0.35, measured=first)
    yield Row(
        figure=f"REPL, an answer of {LINES:,} lines of Markdown, CPU",
        unit="ms a line",
        target=1.0,
        measured=line,
    )
    yield Row(
        figure=f"REPL, the last {EDGE:,} of them, CPU",
        unit="ms a line",
        target=1000 * begin / EDGE,
        measured=1000 * end / EDGE,
        note=f"to reach: the first {EDGE:,} of them",
    )
    yield Row(
        figure="REPL, from key to echo while it streams, p95",
        unit="ms",
        digits=1,
        target=30.0,
        measured=delays,
        note=f"{KEYS} keys; wall time",
    )


def _first_prompt(bench: Bench) -> float:
    """Seconds of CPU until the prompt is on the screen."""
    from benchmarks.terminal import Terminal

    with Terminal(bench.hermes.open("say")) as terminal:
        terminal.wait_for(PROMPT)
        return terminal.kill()


def _costs(bench: Bench, counts: Sequence[int]) -> dict[int, float]:
    """Seconds of CPU of a conversation with one answer of so many lines; medians of rounds in turn."""
    found: dict[int, list[float]] = {count: [] for count in counts}
    for _ in range(ROUNDS):
        for count in counts:
            found[count].append(_cost(bench, count))
    return {count: statistics.median(costs) for count, costs in found.items()}


def _cost(bench: Bench, lines: int) -> float:
    from benchmarks.terminal import Terminal

    with Terminal(bench.hermes.open(f"markdown-{lines}")) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("Write it.\r")
        terminal.wait_for(END)
        terminal.type("\x04")
        return terminal.end()


def _delay(bench: Bench) -> float:
    """Milliseconds from a key to its echo while an answer streams in, 95th percentile."""
    from benchmarks.terminal import Terminal

    delays: list[float] = []
    with Terminal(bench.hermes.open(f"markdown-{4 * LINES}")) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("Write it.\r")
        terminal.wait_for("Paragraph 20 ")
        for letter in LETTERS:
            began = time.perf_counter()
            terminal.type(letter)
            delays.append(1000 * (terminal.wait_for(letter) - began))
            time.sleep(PAUSE)
    return _percentile(delays, 95)


def _percentile(values: Sequence[float], share: int) -> float:
    return statistics.quantiles(values, n=100)[share - 1]
