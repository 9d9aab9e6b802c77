"""The purse as a tool set: the kit's suite, and what is kept."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
from hermes_plugin_purse import Settings, purse_take

from hermes_plugins import ToolError
from hermes_plugins.testing import FakeContext, FakeHost, ToolSetConformance, call_tool


class TestPurse(ToolSetConformance):
    module = "hermes_plugin_purse"
    calls: ClassVar = {"purse_take": [{"coins": 3, "what": "bread"}]}


async def test_it_remembers_what_is_left(tmp_path: Path) -> None:
    context = FakeContext(tmp_path, host=FakeHost(tmp_path, section=Settings(coins=10)))
    for left in (7, 4):
        answer = await call_tool(purse_take, {"coins": 3, "what": "bread"}, context)
        assert answer == f"Taken for bread: 3. Left: {left}."
    kept = await context.host.records("purse").get("coins")
    assert kept is not None
    assert (kept.value, kept.version) == (4, 2)


async def test_what_is_not_there_cannot_be_taken(tmp_path: Path) -> None:
    context = FakeContext(tmp_path)
    with pytest.raises(ToolError, match="the purse has 20"):
        await call_tool(purse_take, {"coins": 21, "what": "a boat"}, context)
    assert await context.host.records("purse").get("coins") is None
