"""``python -m benchmarks``: measure, and print a table.

    python -m benchmarks [--peers] [--only NAME]... [--full] [--json FILE]

About five minutes on two cores. ``--peers`` installs hermes-agent, nanobot and llm and gives them the
same work; that is the only time that the network is used, apart from our own dependencies.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from benchmarks.bench import Bench
from benchmarks.rows import ROWS
from benchmarks.table import Row, render


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; the exit status says nothing about targets."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Hermes.")
    parser.add_argument("--peers", action="store_true", help="the same work for other agents")
    parser.add_argument("--only", action="append", choices=list(ROWS), help="these rows alone")
    parser.add_argument("--full", action="store_true", help="search over 1,000,000 messages")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    with ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="hermes-bench-"))
        bench = Bench(Path(name), stack, with_peers=options.peers, full=options.full)
        try:
            for row_name in options.only or ROWS:
                print(f"measuring: {row_name}", file=sys.stderr, flush=True)
                rows += ROWS[row_name](bench)
        finally:  # whoever has no patience gets what there is
            report(rows, bench.versions(), options.json)
    return 0


def report(rows: Sequence[Row], versions: Mapping[str, str], file: Path | None) -> None:
    """Print the table, and write it to ``file`` as JSON."""
    print("  ".join(f"{name} {version}" for name, version in versions.items()))
    print(machine(), render(rows, list(versions)[1:]), sep="\n\n", end="", flush=True)
    if file is not None:
        found = {"machine": machine(), "versions": versions, "rows": rows}
        file.write_bytes(msgspec.json.format(msgspec.json.encode(found)))


def machine() -> str:
    """What it was measured on."""
    return f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"


if __name__ == "__main__":
    sys.exit(main())
