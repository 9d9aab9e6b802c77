"""The words: the kit's conformance suite, and what this tool does."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
from hermes_plugin_words import longest_words

from hermes_plugins import ToolError
from hermes_plugins.testing import FakeContext, ToolSetConformance, call_tool


class TestToolSet(ToolSetConformance):
    module = "hermes_plugin_words"
    calls: ClassVar = {"longest_words": [{"path": "a.txt"}]}

    def prepare(self, folder: Path) -> None:
        (folder / "a.txt").write_text("a word or two\n", encoding="utf-8")


async def test_the_longest_words_come_first_and_each_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a boat, a longer boat\n", encoding="utf-8")
    answer = await call_tool(longest_words, {"path": "a.txt", "count": 2}, FakeContext(tmp_path))
    assert answer == "longer, boat"


async def test_no_words_at_all_is_an_error_that_says_how_many(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot be had"):
        await call_tool(longest_words, {"path": "a.txt", "count": 0}, FakeContext(tmp_path))
