"""The REPL in a terminal: until the first prompt, a long answer, and typing while it comes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence

from benchmarks.bench import Bench
from benchmarks.measure import NotRun
from benchmarks.table import Row

PROMPT = "approvals manual"
END = "The last line."
LINES = 5_000
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
        costs = _costs(bench, (0, LINES, 2 * LINES))
        delay, without = _delay(bench)
    except (NotRun, ImportError) as reason:
        yield Row(figure="REPL", unit="", target=None, measured=str(reason) or "not run")
        return
    line = 1000 * (costs[LINES] - costs[0]) / LINES
    later = 1000 * (costs[2 * LINES] - costs[LINES]) / LINES
    yield Row(figure="REPL, first prompt, CPU", unit="s", digits=3, target=0.35, measured=first)
    yield Row(
        figure=f"REPL, an answer of {LINES:,} lines of Markdown, CPU",
        unit="ms a line",
        target=1.0,
        measured=line,
    )
    yield Row(
        figure=f"REPL, the next {LINES:,} lines of it, CPU",
        unit="ms a line",
        target=1.2 * line,
        measured=later,
        note="to reach: the first ones, and a fifth for noise",
    )
    yield Row(
        figure="REPL, from key to echo while it streams, p95",
        unit="ms",
        digits=1,
        target=30.0,
        measured=delay,
        note=f"{KEYS} keys; {without:.1f} ms without what it waited for a processor",
    )


def _first_prompt(bench: Bench) -> float:
    """Seconds of CPU until the prompt is on the screen."""
    from benchmarks.terminal import Terminal

    with Terminal(bench.hermes.open("say")) as terminal:
        terminal.wait_for(PROMPT)
        return terminal.kill()


def _costs(bench: Bench, counts: Sequence[int]) -> dict[int, float]:
    """Seconds of CPU of a conversation with one answer of so many lines, the least of some rounds:
    their differences are told, and what else the machine does only ever adds."""
    found: dict[int, list[float]] = {count: [] for count in counts}
    for _ in range(ROUNDS):
        for count in counts:
            found[count].append(_cost(bench, count))
    return {count: min(costs) for count, costs in found.items()}


def _cost(bench: Bench, lines: int) -> float:
    from benchmarks.terminal import Terminal

    with Terminal(bench.hermes.open(f"markdown-{lines}")) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("Write it.\r")
        terminal.wait_for(END)
        terminal.type("\x04")
        return terminal.end()


def _delay(bench: Bench) -> tuple[float, float]:
    """Milliseconds from a key to its echo while an answer streams in, 95th percentile; and without the
    time that the child stood in the queue of a busy machine."""
    from benchmarks.terminal import Terminal

    delays: list[tuple[float, float]] = []
    with Terminal(bench.hermes.open(f"markdown-{4 * LINES}")) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("Write it.\r")
        terminal.wait_for("Paragraph 20 ")
        for letter in LETTERS:
            queued, began = terminal.queued(), time.perf_counter()
            terminal.type(letter)
            delay = terminal.wait_for(letter) - began
            delays.append((1000 * delay, 1000 * (delay - terminal.queued() + queued)))
            time.sleep(PAUSE)
    whole, alone = zip(*delays, strict=True)
    return _percentile(whole, 95), _percentile(alone, 95)


def _percentile(values: Sequence[float], share: int) -> float:
    return statistics.quantiles(values, n=100)[share - 1]
