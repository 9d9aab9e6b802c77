"""The meter, inside a whole host."""

from __future__ import annotations

from pathlib import Path

from hermes_plugin_meter import Meter

from hermes_plugins.testing import HostFactory, ScriptedServer, replies

PLUGINS = {("hermes.lifecycle", "meter"): Meter}


async def test_tokens_are_counted_and_kept(
    hermes: HostFactory, model_server: ScriptedServer
) -> None:
    usage = {"prompt_tokens": 30, "completion_tokens": 12}
    model_server.script(replies.say("One.", usage=usage), replies.say("Two.", usage=usage))
    async with hermes(plugins=PLUGINS, server=model_server, toolsets=("todo",)) as host:
        await host.ask("One?")
        await host.ask("Two?")
        await host.watched()
        kept = await host.records("meter", "tokens").get("custom/scripted")
    assert kept is not None
    assert (kept.value, kept.version) == (84, 2)


async def test_the_model_is_warned_with_the_next_message(
    hermes: HostFactory, model_server: ScriptedServer
) -> None:
    model_server.script(replies.say("One."), replies.say("Two."))
    async with hermes(
        plugins=PLUGINS,
        server=model_server,
        settings={"plugins.meter.warn_tokens": 1},
        toolsets=("todo",),
    ) as host:
        await host.ask("One?")
        await host.watched()
        await host.ask("Two?")
    first, second = (request.messages[-1]["content"] for request in model_server.requests)
    assert first == "One?"
    assert second == "Two?\n\n(This model has used 15 tokens. Be brief.)"


async def test_results_lose_their_colours(
    hermes: HostFactory, model_server: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / "workspace" / "log.txt").write_text("\x1b[31mred\x1b[0m\n", encoding="utf-8")
    model_server.script(replies.call("read_file", {"path": "log.txt"}), replies.say("Red."))
    async with hermes(plugins=PLUGINS, server=model_server, toolsets=("file",)) as host:
        await host.ask("What is in the log?")
    result = str(model_server.requests[1].messages[-1]["content"])
    assert "red" in result
    assert "\x1b" not in result
