"""The title of a page, through the host's own HTTP client."""

from __future__ import annotations

import hermes_plugin_headline

from hermes_plugins import ToolDone
from hermes_plugins.testing import HostFactory, ScriptedServer, replies


async def titled(hermes: HostFactory, model: ScriptedServer, url: str) -> ToolDone:
    """What the call came to, without anybody being asked."""
    model.script(replies.call("page_title", {"url": url}), replies.say("Done."))
    async with hermes(
        plugins={("hermes.tools", "headline"): hermes_plugin_headline},
        server=model,
        toolsets=("headline",),
        mode="off",
    ) as host:
        (done,) = (await host.ask("What is it called?")).of(ToolDone)
    return done


async def test_the_title_of_a_page(hermes: HostFactory, model_server: ScriptedServer) -> None:
    with ScriptedServer(models=["<title>Acorns &amp; co</title>"]) as page:
        done = await titled(hermes, model_server, f"{page.url}/models")
    assert (done.status, done.summary) == ("ok", "Acorns & co")


async def test_a_page_that_is_not_there(hermes: HostFactory, model_server: ScriptedServer) -> None:
    done = await titled(hermes, model_server, "http://127.0.0.1:1/")
    assert done.status == "failed"
    assert done.summary.startswith("Error (transient): http://127.0.0.1:1/: ")


async def test_without_a_person_the_own_network_stays_closed(
    hermes: HostFactory, model_server: ScriptedServer
) -> None:
    model_server.script(replies.call("page_title", {"url": model_server.url}), replies.say("No."))
    async with hermes(
        plugins={("hermes.tools", "headline"): hermes_plugin_headline},
        server=model_server,
        toolsets=("headline",),
    ) as host:
        (done,) = (await host.ask("What is it called?")).of(ToolDone)
    assert done.status == "blocked"
