"""Search over many messages: how long it takes, and how big the file is.

    python benchmarks/search_bench.py [--messages 1000000] [--folder DIR]

Builds state.db through the store's own door (sessions of 20 messages; words drawn by frequency as in
a language, Zipf; three in ten messages Chinese without spaces), then asks for words drawn by the same
frequencies, and for the twenty commonest. A folder that is given is kept, and used again as it is.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from hermes_core.store.sqlite import Store, new_session_id
from hermes_plugins import Message, SessionInfo, TextPart
from hermes_plugins.testing import VirtualClock

SESSION = 20
ROLES = ("user", "assistant", "tool", "assistant")
SYSTEM = "You are an agent. " * 200


class Language:
    """Words of one script, the commonest first, and texts made of them."""

    def __init__(self, rng: random.Random, words: Iterable[str], count: int, join: str) -> None:
        unique = dict.fromkeys(itertools.islice(words, count * 3))
        self.words = list(unique)[:count]
        self._weights = list(
            itertools.accumulate(1 / (rank + 2.7) for rank in range(len(self.words)))
        )
        self._rng = rng
        self._join = join

    def draw(self, count: int) -> list[str]:
        """Words by frequency."""
        return self._rng.choices(self.words, cum_weights=self._weights, k=count)

    def text(self) -> str:
        """A message: 33 words in the median, a few hundred at the long end."""
        return self._join.join(self.draw(max(3, int(self._rng.lognormvariate(3.5, 0.8)))))


def latin(rng: random.Random) -> Iterable[str]:
    """Invented words of one to five syllables; the common ones are short."""
    for rank in itertools.count():
        syllables = 1 + (rank > 30) + (rank > 1500) + (rng.random() < 0.4)
        yield "".join(
            rng.choice("bcdfghjklmnprstvwz") + rng.choice("aeiou") for _ in range(syllables)
        )


def chinese(rng: random.Random) -> Iterable[str]:
    """Words of two characters out of 3,000, drawn by frequency as well."""
    characters = [chr(0x4E00 + at) for at in rng.sample(range(20_000), 3000)]
    weights = list(itertools.accumulate(1 / (rank + 10) for rank in range(3000)))
    while True:
        yield "".join(rng.choices(characters, cum_weights=weights, k=2))


async def build(store: Store, count: int, languages: tuple[Language, Language]) -> int:
    """Fill the store; the bytes of text that went in."""
    rng = random.Random(3)
    size = 0
    for at in range(count // SESSION):
        name = new_session_id(1_800_000_000.0 + at, rng)
        await store.create_session(SessionInfo(id=name), system=SYSTEM, tools=b"[]")
        lease = await store.acquire(name, holder="bench")
        texts = [languages[rng.random() < 0.3].text() for _ in range(SESSION)]
        size += sum(len(text.encode()) for text in texts)
        messages = [
            Message(role=ROLES[place % 4], parts=(TextPart(text),))  # type: ignore[arg-type]
            for place, text in enumerate(texts)
        ]
        await store.append(lease, messages)
        await store.release(lease)
    return size


async def measure(store: Store, name: str, queries: list[str]) -> list[float]:
    """Ask, and print one line of the table; milliseconds a query."""
    spent, hits, more = [], 0, 0
    for query in queries:
        begin = time.perf_counter()
        answer = await store.search(query)
        spent.append((time.perf_counter() - begin) * 1000)
        hits += bool(answer.hits)
        more += answer.more
    ranked = sorted(spent)
    print(
        f"{name:34} {statistics.median(ranked):8.1f} {ranked[int(len(ranked) * 0.95)]:8.1f}"
        f" {ranked[-1]:8.1f} {hits:5}/{len(queries)} {more:5}"
    )
    return spent


async def main() -> None:
    """Build, then ask."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    rng = random.Random(1)
    languages = (
        Language(rng, latin(rng), 50_000, " "),
        Language(rng, chinese(rng), 20_000, ""),
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        path = folder / "state.db"
        note = folder / "text-bytes"
        if not path.exists():
            store = Store(path, clock=VirtualClock(), process="bench")
            begin = time.process_time()
            size = await build(store, options.messages, languages)
            await store.close()
            note.write_text(str(size), encoding="utf-8")
            print(f"built in {time.process_time() - begin:.0f} s CPU")
        size = int(note.read_text(encoding="utf-8"))
        whole = path.stat().st_size
        print(
            f"text {size / 1e6:.0f} MB, file {whole / 1e6:.0f} MB: {whole / size:.2f} (to reach: 2.5)"
        )
        store = Store(path, clock=VirtualClock(), process="bench")
        await ask(store, languages)
        await store.close()


async def ask(store: Store, languages: tuple[Language, Language]) -> None:
    """The table."""
    west, east = languages
    print(f"{'milliseconds':34} {'median':>8} {'p95':>8} {'most':>8} {'found':>9} {'more':>5}")
    counted = await measure(store, "Latin, by frequency", west.draw(200))
    counted += await measure(store, "Latin, the 20 commonest", west.words[:20])
    counted += await measure(store, "Chinese words, by frequency", east.draw(200))
    counted += await measure(store, "Chinese words, the 20 commonest", east.words[:20])
    ranked = sorted(counted)
    print(
        f"{'all of these':34} {statistics.median(ranked):8.1f} {ranked[int(len(ranked) * 0.95)]:8.1f}"
        f" {ranked[-1]:8.1f}   (to reach: 15, 50)"
    )
    await measure(store, "two Latin words", [" ".join(west.draw(2)) for _ in range(100)])
    await measure(store, "two, in quotes", [f'"{" ".join(west.draw(2))}"' for _ in range(100)])
    await measure(store, "two, with a hyphen", ["-".join(west.draw(2)) for _ in range(100)])
    await measure(store, "two Chinese words, glued", ["".join(east.draw(2)) for _ in range(100)])
    await measure(store, "one Chinese character", [word[0] for word in east.words[:20]])
    await measure(store, "nothing but punctuation", ["++", "@@"])


if __name__ == "__main__":
    asyncio.run(main())
