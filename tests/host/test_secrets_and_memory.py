"""A plugin's own secrets, and the memory backend that the settings name."""

from __future__ import annotations

import pytest

from hermes_plugins import (
    ConfigSection,
    PluginError,
    Pure,
    Section,
    ToolContext,
    hookimpl,
    tool,
)
from hermes_plugins.testing import ScriptedServer, replies


class Empty(Section, frozen=True, kw_only=True):
    """No settings, only a secret."""


class Vault:
    """A tool set with a secret."""

    @hookimpl
    def hermes_register_config(self) -> list[ConfigSection]:
        return [ConfigSection(name="vault", schema=Empty, env=("VAULT_TOKEN",))]

    @hookimpl
    def hermes_register_tools(self) -> list[object]:
        @tool(toolset="vault", effects=[Pure()])
        async def unlock(context: ToolContext, name: str) -> str:
            """Say whether a secret is there."""
            return f"{len(context.host.secret(name))} characters"

        return [unlock]


async def test_a_plugin_reads_the_secret_that_it_declared(hermes, monkeypatch) -> None:
    monkeypatch.setenv("VAULT_TOKEN", "not-a-real-token")
    with ScriptedServer(
        [replies.call("unlock", {"name": "VAULT_TOKEN"}), replies.say("ok")]
    ) as server:
        async with hermes(
            plugins={("hermes.tools", "vault"): Vault()}, server=server, toolsets=("vault",)
        ) as host:
            await host.ask("go")
            history = (await host.session()).history
    assert history[2].text == "16 characters"


async def test_a_secret_that_was_not_declared_is_refused(hermes, monkeypatch) -> None:
    monkeypatch.setenv("OTHER_TOKEN", "not-a-real-token")
    async with hermes(plugins={("hermes.tools", "vault"): Vault()}, toolsets=("vault",)) as host:
        await host.session()
        with pytest.raises(PluginError, match="without naming it"):
            host.runtime.handle("vault").secret("OTHER_TOKEN")


class Diary:
    """A memory backend's plugin with a tool of its own."""

    @hookimpl
    def hermes_register_tools(self) -> list[object]:
        @tool(toolset="diary", effects=[Pure()])
        async def diary() -> str:
            """Read the diary."""
            return "dear diary"

        return [diary]


async def test_the_memory_backend_that_is_configured_brings_its_tools(hermes) -> None:
    plugins = {("hermes.memory", "diary"): Diary()}
    async with hermes(plugins=plugins, settings={"memory.backend": "diary"}) as host:
        session = await host.session()
    assert "diary" in [spec.name for spec in session.tools]


async def test_a_memory_backend_that_is_not_there_is_said_loudly(hermes) -> None:
    async with hermes(settings={"memory.backend": "gone"}) as host:
        await host.session()
        assert any("gone" in problem.plugin for problem in host.runtime.host.problems)
