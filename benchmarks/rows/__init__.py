"""The rows of the table, by name, in the table's order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.bench import Bench
from benchmarks.rows import (
    api_server,
    deltas,
    plugins,
    prompt,
    repl,
    search,
    startup,
    turns,
)
from benchmarks.table import Row

ROWS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "version": startup.version,
    "tab": startup.tab,
    "question": startup.question,
    "turns": turns.early,
    "turn-500": turns.late,
    "deltas": deltas.rows,
    "repl": repl.rows,
    "prompt": prompt.size,
    "prefix": prompt.prefix,
    "plugins": plugins.rows,
    "search": search.rows,
    "api-server": api_server.rows,
}
