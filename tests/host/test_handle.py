"""The handle that a plugin gets: its settings, its records, its tasks, and a child's variables."""

from __future__ import annotations

import asyncio
from typing import Annotated

import pytest

from hermes_plugins import (
    ConfigError,
    ConfigSection,
    Host,
    Meta,
    PluginError,
    Section,
    StoreError,
    hookimpl,
)


class Mine(Section, frozen=True, kw_only=True):
    seconds: Annotated[float, Meta(description="how long")] = 1.5
    words: tuple[str, ...] = ()


class Plugin:
    @hookimpl
    def hermes_register_config(self) -> list[ConfigSection]:
        return [ConfigSection(name="p", schema=Mine, inherits={"seconds": "terminal.timeout"})]

    @hookimpl
    async def hermes_on_start(self) -> None: ...


PLUGINS = {("hermes.lifecycle", "p"): Plugin(), ("hermes.lifecycle", "q"): Plugin}


# -- settings ----------------------------------------------------------------------------


async def test_a_section_is_typed_and_has_its_defaults(hermes) -> None:
    async with hermes(settings={"plugins.r.words": ["a", "b"]}) as host:
        assert host.runtime.handle("r").section(Mine) == Mine(words=("a", "b"))
        assert host.runtime.handle("s").section(Mine) == Mine()


@pytest.mark.parametrize(("key", "value"), [("plugins.p.seconds", "soon"), ("plugins.p.secnds", 3)])
async def test_a_value_that_does_not_fit_names_its_key(hermes, key: str, value: object) -> None:
    async with hermes(settings={key: value}) as host:
        with pytest.raises(ConfigError) as caught:
            host.runtime.handle("p").section(Mine)
    assert key in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        ({}, 180.0),
        ({"terminal.timeout": 12}, 12.0),
        ({"terminal.timeout": 12, "plugins.p.seconds": 7}, 7.0),
        ({"terminal.timeout": 12, "plugins.p.seconds": 1.5}, 1.5),
    ],
)
async def test_where_its_section_is_silent_a_plugin_inherits_the_kernels_setting(
    hermes, settings: dict[str, object], seconds: float
) -> None:
    async with hermes(plugins=PLUGINS, settings=settings) as host:
        await host.runtime.start()
        assert host.runtime.handle("p").section(Mine).seconds == seconds


async def test_a_driver_inherits_although_its_plugin_is_not_loaded(hermes, shelf) -> None:
    source = (
        "from hermes_plugins import ConfigSection, Section, hookimpl\n\n"
        "made = []\n\n"
        "class Mine(Section, frozen=True, kw_only=True):\n    seconds: float = 1.0\n\n"
        "class Place:\n    def __init__(self, host, workspace):\n"
        "        self.seconds = host.section(Mine).seconds\n\n"
        "class Plugin:\n"
        "    def __init__(self):\n        made.append(self)\n\n"
        "    @hookimpl\n    def hermes_register_config(self):\n"
        "        return [ConfigSection(name='place', schema=Mine,\n"
        "                              inherits={'seconds': 'terminal.timeout'})]\n\n"
        "    @hookimpl\n    def hermes_register_tools(self):\n        return []\n"
    )
    module = "hermes_plugin_place"
    points = {
        "hermes.tools/place": f"{module}:Plugin",
        "hermes.environments/place": f"{module}:Place",
    }
    shelf.put("hermes-plugin-place", points, module=source)
    settings = {"plugins.enabled": ["place"], "terminal.timeout": 12}
    async with hermes(settings=settings) as host:
        driver = await host.runtime.host.driver("hermes.environments", "place")
        assert driver(host.runtime.handle("place"), "/w").seconds == 12
        assert "place" not in host.runtime.host.loaded
        await host.runtime.host.load("hermes.tools", ["place"])
        assert "place" in host.runtime.host.loaded
        assert driver(host.runtime.handle("place"), "/w").seconds == 12
    import sys

    assert len(sys.modules[module].made) == 1


# -- a child's variables -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "passes"),
    [
        ("PATH", True),
        ("LANG", True),
        ("SSH_AUTH_SOCK", True),
        ("EDITOR", True),
        ("OPENAI_API_KEY", False),
        ("openai_api_key", False),
        ("GITHUB_TOKEN", False),
        ("AWS_SECRET_ACCESS_KEY", False),
        ("PGPASSWORD", False),
        ("SENTRY_DSN", False),
        ("SLACK_WEBHOOK_URL", False),
        ("HERMES_HOME", False),
        ("IN_DOTENV", False),
    ],
)
async def test_a_child_gets_no_variable_that_holds_a_secret(
    hermes, hermes_home, monkeypatch, name: str, passes: bool
) -> None:
    hermes_home.mkdir()
    env = hermes_home / ".env"
    env.write_text("IN_DOTENV=not-a-real-secret\n", encoding="utf-8")
    env.chmod(0o600)
    if name not in ("IN_DOTENV", "HERMES_HOME"):
        monkeypatch.setenv(name, "not-a-real-secret")
    async with hermes() as host:
        assert (name in host.runtime.handle("p").child_environment()) is passes


async def test_a_child_gets_what_the_owner_passes_through_and_what_the_caller_adds(
    hermes, monkeypatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "not-a-real-token")
    async with hermes(settings={"terminal.env_passthrough": ["SOME_TOKEN"]}) as host:
        child = host.runtime.handle("p").child_environment({"EXTRA_KEY": "given", "PATH": "/x"})
    assert child["SOME_TOKEN"] == "not-a-real-token"
    assert (child["EXTRA_KEY"], child["PATH"]) == ("given", "/x")


# -- records -----------------------------------------------------------------------------


async def test_records_of_two_plugins_do_not_meet(hermes) -> None:
    async with hermes() as host:
        mine = host.runtime.handle("p").records("ledger")
        theirs = host.runtime.handle("q").records("ledger")
        await mine.put("a", 1, version=0)
        assert await theirs.get("a") is None
        await theirs.put("a", 2, version=0)
        kept = await mine.get("a")
        assert kept is not None
        assert kept.value == 1
        with pytest.raises(StoreError):
            await mine.put("a", 3, version=0)


# -- tasks -------------------------------------------------------------------------------


@pytest.mark.parametrize("raised", [ValueError("lost"), SystemExit(3)])
async def test_a_task_that_fails_is_reported_and_the_host_lives(
    hermes, raised: BaseException
) -> None:
    async def work() -> None:
        raise raised

    async with hermes() as host:
        await host.runtime.start()
        host.runtime.handle("p").tasks.start("search", work())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        (problem,) = host.runtime.host.problems
    assert problem.plugin == "p"
    assert problem.text == f"its task search failed ({type(raised).__name__}: {raised})"


async def test_tasks_end_with_the_host(hermes) -> None:
    ends: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("ended")

    async with hermes() as host:
        await host.runtime.start()
        host.runtime.handle("p").tasks.start("wait", work())
        await asyncio.sleep(0)
        assert ends == []
    assert ends == ["ended"]
    assert host.runtime.host.problems == []


async def test_a_plain_hook_may_start_a_task_from_its_thread(hermes) -> None:
    done = asyncio.Event()

    async def work() -> None:
        done.set()

    class Starts:
        @hookimpl
        def hermes_on_start(self, host: Host) -> None:
            host.tasks.start("work", work())

    async with hermes(plugins={("hermes.lifecycle", "p"): Starts()}) as host:
        await host.runtime.start()
        await asyncio.wait_for(done.wait(), 10)
    assert host.runtime.host.problems == []


async def test_a_handle_of_a_host_that_has_stopped_says_so(hermes) -> None:
    async def work() -> None: ...

    async with hermes() as host:
        handle = host.runtime.handle("p")
    with pytest.raises(PluginError, match="task late was not started: the host has stopped"):
        handle.tasks.start("late", work())
