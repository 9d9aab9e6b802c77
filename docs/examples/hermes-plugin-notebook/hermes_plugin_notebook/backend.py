"""Memory in a file of JSON lines; a query finds the entries that share most words with it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path

from hermes_plugins import Message, Recalled


class Notebook:
    """Implements `MemoryBackend`."""

    def __init__(self, folder: Path, *, max_entries: int = 1000) -> None:
        self._file = folder / "notebook.jsonl"
        self._max_entries = max_entries
        self._turn = asyncio.Lock()

    async def recall(self, query: str, *, session_id: str, limit: int = 5) -> Sequence[Recalled]:
        """The entries that share words with the query, the closest first."""
        wanted = _words(query)
        found = [
            Recalled(text=text, score=len(wanted & words) / len(wanted), source=str(self._file))
            for text in await asyncio.to_thread(self._texts)
            if (words := _words(text)) & wanted
        ]
        return sorted(found, key=lambda one: -one.score)[:limit]

    async def remember(self, messages: Sequence[Message], *, session_id: str) -> None:
        """Keep what the person wrote."""
        texts = [message.text for message in messages if message.role == "user" and message.text]
        if texts:
            async with self._turn:
                await asyncio.to_thread(self._append, texts)

    async def on_compress(self, messages: Sequence[Message], *, session_id: str) -> str:
        """Nothing to save from a summary: every message is kept already."""
        return ""

    async def close(self) -> None:
        """Nothing is pending: every turn is written at once."""

    def _texts(self) -> list[str]:
        try:
            lines = self._file.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        return [str(json.loads(line)) for line in lines]

    def _append(self, texts: Sequence[str]) -> None:
        kept = [*self._texts(), *texts][-self._max_entries :]
        self._file.parent.mkdir(parents=True, exist_ok=True)
        draft = self._file.with_suffix(".tmp")
        draft.write_text("".join(json.dumps(text) + "\n" for text in kept), encoding="utf-8")
        draft.replace(self._file)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
