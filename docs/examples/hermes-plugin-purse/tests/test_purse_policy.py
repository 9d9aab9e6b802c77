"""The purse as a policy, beside its tool set in a whole host."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import hermes_plugin_purse
import pytest
from hermes_plugin_purse import hermes_before_tool_call

from hermes_plugins import Allow, Ask, Decision, Json, ToolDone
from hermes_plugins.testing import (
    FakeApprover,
    FakeHost,
    HostFactory,
    ScriptedServer,
    a_call,
    replies,
)

PLUGINS = {
    ("hermes.tools", "purse"): hermes_plugin_purse,
    ("hermes.policies", "purse"): hermes_plugin_purse,
}


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("purse_take", {"coins": 5, "what": "bread"}, Allow()),
        ("purse_take", {"coins": 6, "what": "cake"}, Ask("it takes 6 coins")),
        ("another_tool", {"coins": 6}, Allow()),
    ],
)
async def test_its_answers(
    tmp_path: Path, tool: str, arguments: Mapping[str, Json], answer: Decision
) -> None:
    call = a_call(tool=tool, arguments=arguments)
    assert await hermes_before_tool_call(FakeHost(tmp_path), call) == answer


async def test_a_yes_for_the_session_is_for_the_same_call_only(
    hermes: HostFactory, model_server: ScriptedServer
) -> None:
    cake, feast = {"coins": 6, "what": "cake"}, {"coins": 7, "what": "a feast"}
    model_server.script(
        replies.call("purse_take", cake),
        replies.call("purse_take", cake),
        replies.call("purse_take", feast),
        replies.say("No feast."),
    )
    person = FakeApprover("session", "deny")
    async with hermes(
        plugins=PLUGINS, server=model_server, toolsets=("purse",), approver=person
    ) as host:
        answer = await host.ask("Two cakes and a feast!")
        kept = await host.records("purse", "purse").get("coins")
    assert [done.status for done in answer.of(ToolDone)] == ["ok", "ok", "blocked"]
    first, second = person.seen
    assert "it takes 6 coins" in first.reason
    assert "it takes 7 coins" in second.reason
    assert kept is not None
    assert kept.value == 8
