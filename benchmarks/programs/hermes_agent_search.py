"""The search benchmark for hermes-agent's own store: ``TEXTS.jsonl FILE.db``.

The first line of the texts is the queries, a list; each other line is the messages of a session, a
list. It prints what search_bench.py prints at the end: milliseconds, and bytes a byte of text.
"""

import json
import statistics
import sys
import time
from pathlib import Path

from hermes_state import SessionDB  # type: ignore[import-not-found]


def main() -> None:
    """Build, then ask."""
    texts, file = Path(sys.argv[1]), Path(sys.argv[2])
    database = SessionDB(file)
    size = 0
    with texts.open(encoding="utf-8") as lines:
        queries = json.loads(next(lines))
        for number, line in enumerate(lines):
            session = database.create_session(f"session-{number}", "cli")
            for place, text in enumerate(json.loads(line)):
                size += len(text.encode())
                database.append_message(session, ("user", "assistant")[place % 2], text)
    spent = []
    for query in queries:
        begin = time.perf_counter()
        database.search_messages(query)
        spent.append((time.perf_counter() - begin) * 1000)
    database.close()
    whole = file.stat().st_size
    print(f"text {size / 1e6:.0f} MB, file {whole / 1e6:.0f} MB: {whole / size:.2f}")
    p95 = sorted(spent)[int(len(spent) * 0.95)]
    print(f"all of these {statistics.median(spent):.1f} {p95:.1f}")


if __name__ == "__main__":
    main()
