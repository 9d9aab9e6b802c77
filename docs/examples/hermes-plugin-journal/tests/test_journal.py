"""The journal: the kit's suite, the tools alone, and both inside a whole host."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import hermes_plugin_journal
import pytest
from hermes_plugin_journal import Settings, journal_read, journal_write

from hermes_plugins import ToolError
from hermes_plugins.testing import (
    FakeContext,
    FakeHost,
    HostFactory,
    ScriptedServer,
    ToolSetConformance,
    call_tool,
    replies,
)


class TestJournal(ToolSetConformance):
    module = "hermes_plugin_journal"
    calls: ClassVar = {"journal_write": [{"text": "Planted a pear tree"}], "journal_read": [{}]}

    def prepare(self, folder: Path) -> None:
        (folder / "journal.md").write_text("2026-01-01 Snow\n", encoding="utf-8")


async def test_what_is_written_is_read_with_its_day(tmp_path: Path) -> None:
    context = FakeContext(tmp_path)
    assert await call_tool(journal_read, {}, context) == "The journal is empty."
    await call_tool(journal_write, {"text": "Planted a\npear tree"}, context)
    assert await call_tool(journal_read, {}, context) == "2027-01-15 Planted a pear tree"


async def test_the_settings_bound_what_is_shown(tmp_path: Path) -> None:
    (tmp_path / "journal.md").write_text("a\nb\nc\n", encoding="utf-8")
    host = FakeHost(tmp_path / "home", section=Settings(max_lines=2))
    assert await call_tool(journal_read, {}, FakeContext(tmp_path, host=host)) == "b\nc"


async def test_an_empty_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="nothing to write"):
        await call_tool(journal_write, {"text": " "}, FakeContext(tmp_path))


async def test_a_model_writes_and_reads(hermes: HostFactory, model_server: ScriptedServer) -> None:
    model_server.script(
        replies.call("journal_write", {"text": "Planted a pear tree"}),
        replies.call("journal_read", {"word": "pear"}),
        replies.say("You planted a pear tree."),
    )
    async with hermes(
        plugins={("hermes.tools", "journal"): hermes_plugin_journal},
        server=model_server,
        settings={"plugins.journal.max_lines": 1},
        toolsets=("journal",),
    ) as host:
        answer = await host.ask("What did I do in the garden?")
    assert answer.end.outcome == "completed"
    read = str(model_server.requests[-1].messages[-1]["content"])
    assert "Planted a pear tree" in read
    assert "untrusted-output" in read
