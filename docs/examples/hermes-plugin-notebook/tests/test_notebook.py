"""The notebook: the kit's suite, and its limit."""

from __future__ import annotations

from pathlib import Path

from hermes_plugin_notebook.backend import Notebook

from hermes_plugins import MemoryBackend, user_message
from hermes_plugins.testing import MemoryConformance


class TestNotebook(MemoryConformance):
    def make(self, folder: Path) -> MemoryBackend:
        return Notebook(folder)


async def test_the_oldest_entry_goes_first(tmp_path: Path) -> None:
    notebook = Notebook(tmp_path, max_entries=2)
    for name in ("one", "two", "three"):
        await notebook.remember([user_message(f"entry {name}")], session_id="s")
    found = await notebook.recall("entry", session_id="s")
    assert [one.text for one in found] == ["entry two", "entry three"]
