"""The dice: the kit's suite, the tool alone, and the tool inside a whole host."""

from pathlib import Path
from typing import ClassVar

import hermes_plugin_dice
import pytest

from hermes_plugins import ToolDone, ToolError
from hermes_plugins.testing import (
    FakeContext,
    HostFactory,
    ScriptedServer,
    ToolSetConformance,
    call_tool,
    replies,
)


class TestDice(ToolSetConformance):
    module = "hermes_plugin_dice"
    calls: ClassVar = {"roll": [{}, {"sides": 20, "count": 2}]}


async def test_a_die_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="no such dice"):
        await call_tool(hermes_plugin_dice.roll, {"sides": 1}, FakeContext(tmp_path))


async def test_the_model_can_roll(hermes: HostFactory, model_server: ScriptedServer) -> None:
    model_server.script(replies.call("roll", {"count": 3}), replies.say("There you are."))
    plugins = {("hermes.tools", "dice"): hermes_plugin_dice}
    async with hermes(plugins=plugins, server=model_server, toolsets=("dice",)) as host:
        answer = await host.ask("Roll three dice.")
    assert answer.text == "There you are."
    (done,) = answer.of(ToolDone)
    assert done.status == "ok"
    assert " = " in str(model_server.requests[1].messages[-1]["content"])
