"""The policy: its answers, and what a whole host makes of them."""

from __future__ import annotations

from pathlib import Path

import hermes_plugin_careful
import pytest
from hermes_plugin_careful import Settings, hermes_before_tool_call

from hermes_plugins import Allow, Ask, Deny, Effects, ToolDone
from hermes_plugins.testing import (
    FakeApprover,
    FakeHost,
    HostFactory,
    ScriptedServer,
    a_call,
    replies,
)

PLUGINS = {("hermes.policies", "careful"): hermes_plugin_careful}
WRITE = replies.call("write_file", {"path": "production.txt", "content": "x"})


@pytest.mark.parametrize(
    ("effects", "kind"),
    [
        (Effects(runs=("make test",)), Allow),
        (Effects(reads=("/w/production.md",)), Allow),
        (Effects(runs=("deploy --to production",)), Ask),
        (Effects(writes=("/w/production.env",)), Ask),
        (Effects(runs=("git push --force origin main",)), Deny),
    ],
)
async def test_its_answers(tmp_path: Path, effects: Effects, kind: type) -> None:
    assert isinstance(await hermes_before_tool_call(FakeHost(tmp_path), a_call(effects)), kind)


async def test_the_words_are_the_owners(tmp_path: Path) -> None:
    host = FakeHost(tmp_path, section=Settings(words=("db1",)))
    answer = await hermes_before_tool_call(host, a_call(Effects(runs=("ssh db1",))))
    assert answer == Ask("this touches db1")


async def test_a_person_may_say_yes(hermes: HostFactory, model_server: ScriptedServer) -> None:
    model_server.script(WRITE, replies.say("Written."))
    person = FakeApprover("once")
    async with hermes(
        plugins=PLUGINS, server=model_server, toolsets=("file",), approver=person
    ) as host:
        (done,) = (await host.ask("Write it.")).of(ToolDone)
        assert (host.workspace / "production.txt").read_text(encoding="utf-8") == "x"
    assert done.status == "ok"
    (question,) = person.seen
    assert "this touches production" in question.reason


async def test_where_nobody_can_be_asked_it_is_a_no_in_every_mode(
    hermes: HostFactory, model_server: ScriptedServer
) -> None:
    model_server.script(WRITE, replies.say("No."))
    async with hermes(plugins=PLUGINS, server=model_server, toolsets=("file",), mode="off") as host:
        (done,) = (await host.ask("Write it.")).of(ToolDone)
    assert done.status == "blocked"
    assert "this touches production" in str(model_server.requests[1].messages[-1]["content"])
