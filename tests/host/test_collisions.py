"""Two plugins that want one name: the same answer whatever the order of finding and loading."""

from __future__ import annotations

import itertools

import pytest

from hermes_plugins import (
    ProviderProfile,
    Pure,
    SetupQuestion,
    SetupSection,
    Tool,
    hookimpl,
    tool,
)
from hermes_plugins.testing import ScriptedServer, TestHost, replies


class Kit:
    """A toolset; ``name/alias`` names a tool with an alias."""

    def __init__(self, toolset: str, *labels: str) -> None:
        self._toolset = toolset
        self._labels = labels

    @hookimpl
    def hermes_register_tools(self) -> list[Tool]:
        return [self._tool(*label.split("/")) for label in self._labels]

    def _tool(self, name: str, *aliases: str) -> Tool:
        @tool(name=name, toolset=self._toolset, effects=[Pure()], aliases=aliases)
        async def build() -> str:
            """Do it."""
            return f"from {self._toolset}"

        return build


def kits(**labels: tuple[str, ...]) -> dict[tuple[str, str], object]:
    return {("hermes.tools", name): Kit(name, *each) for name, each in labels.items()}


async def load_in_order(host: TestHost, order: tuple[str, ...], *, at_once: bool) -> None:
    if at_once:
        await host.runtime.host.load("hermes.tools", order)
    else:
        for name in order:
            await host.runtime.host.load("hermes.tools", [name])


def offered(host: TestHost) -> dict[str, list[str]]:
    return {
        name: sorted(one.name for one in loaded.tools)
        for name, loaded in host.runtime.host.loaded.items()
        if loaded.tools
    }


ORDERS = [
    pytest.param(order, at_once, id=f"{'-'.join(order)}-{'at-once' if at_once else 'one-by-one'}")
    for order in itertools.permutations(("a", "b", "c"))
    for at_once in (True, False)
]
WITH_TODO = [
    pytest.param(order, at_once, id=f"{'-'.join(order)}-{'at-once' if at_once else 'one-by-one'}")
    for order in itertools.permutations(("a", "todo"))
    for at_once in (True, False)
]


@pytest.mark.parametrize(("order", "at_once"), ORDERS)
@pytest.mark.parametrize(
    "labels",
    [
        {"a": ("saw", "plane"), "b": ("saw",), "c": ("axe",)},
        {"a": ("saw",), "b": ("cut/saw",), "c": ("axe",)},
        {"a": ("one/saw",), "b": ("two/saw",), "c": ("axe",)},
    ],
    ids=["names", "name-and-alias", "aliases"],
)
async def test_among_strangers_nobody_gets_a_name_that_two_claim(
    hermes, labels: dict[str, tuple[str, ...]], order: tuple[str, ...], at_once: bool
) -> None:
    async with hermes(plugins=kits(**labels)) as host:
        await load_in_order(host, order, at_once=at_once)
        assert offered(host) == {"c": ["axe"]}
        told = {one.plugin: (one.text, one.hint) for one in host.runtime.host.problems}
    assert told == {
        "a": (
            "tool saw is also offered by b",
            "To prefer this one: plugins.a.overrides: [saw] in hermes.yaml.",
        ),
        "b": (
            "tool saw is also offered by a",
            "To prefer this one: plugins.b.overrides: [saw] in hermes.yaml.",
        ),
    }


@pytest.mark.parametrize(("order", "at_once"), WITH_TODO)
@pytest.mark.parametrize("label", ["todo", "list_it/todo"])
async def test_a_built_in_keeps_its_name(
    hermes, order: tuple[str, ...], at_once: bool, label: str
) -> None:
    async with hermes(plugins=kits(a=(label,))) as host:
        await load_in_order(host, order, at_once=at_once)
        assert offered(host) == {"todo": ["todo"]}
        (problem,) = host.runtime.host.problems
    assert (problem.plugin, problem.text) == ("a", "tool todo is also offered by todo")


@pytest.mark.parametrize(("order", "at_once"), WITH_TODO)
@pytest.mark.parametrize("label", ["todo", "list_it/todo"])
async def test_an_override_gives_the_name_away(
    hermes, order: tuple[str, ...], at_once: bool, label: str
) -> None:
    settings = {"plugins.a.overrides": ["todo"]}
    async with hermes(plugins=kits(a=(label, "saw")), settings=settings) as host:
        await load_in_order(host, order, at_once=at_once)
        assert offered(host) == {"a": sorted([label.partition("/")[0], "saw"])}
        assert host.runtime.host.problems == []
        assert "todo" in host.runtime.host.loaded


@pytest.mark.parametrize(("order", "at_once"), ORDERS)
async def test_an_override_settles_it_among_strangers_too(
    hermes, order: tuple[str, ...], at_once: bool
) -> None:
    plugins = kits(a=("saw",), b=("saw",), c=("axe",))
    async with hermes(plugins=plugins, settings={"plugins.b.overrides": ["saw"]}) as host:
        await load_in_order(host, order, at_once=at_once)
        assert offered(host) == {"b": ["saw"], "c": ["axe"]}
        assert [one.plugin for one in host.runtime.host.problems] == ["a"]


@pytest.mark.parametrize(("order", "at_once"), ORDERS)
async def test_two_overrides_of_one_name_settle_nothing(
    hermes, order: tuple[str, ...], at_once: bool
) -> None:
    settings = {"plugins.a.overrides": ["saw"], "plugins.b.overrides": ["saw"]}
    plugins = kits(a=("saw",), b=("saw",), c=("axe",))
    async with hermes(plugins=plugins, settings=settings) as host:
        await load_in_order(host, order, at_once=at_once)
        assert offered(host) == {"c": ["axe"]}
        assert {one.hint for one in host.runtime.host.problems} == {
            "Only one plugin may have saw among its overrides."
        }


async def test_an_override_of_a_tool_that_the_plugin_does_not_have_takes_nothing_away(
    hermes,
) -> None:
    async with hermes(plugins=kits(a=("saw",)), settings={"plugins.a.overrides": ["todo"]}) as host:
        await host.runtime.host.load("hermes.tools", ["a", "todo"])
        assert offered(host) == {"a": ["saw"], "todo": ["todo"]}


async def test_an_overridden_alias_goes_and_the_tool_stays(hermes) -> None:
    plugins = kits(a=("saw/cut",), b=("cut",))
    async with hermes(plugins=plugins, settings={"plugins.b.overrides": ["cut"]}) as host:
        await host.runtime.host.load("hermes.tools", ["b"])
        await host.runtime.host.load("hermes.tools", ["a"])
        assert offered(host) == {"b": ["cut"]}
        assert [one.plugin for one in host.runtime.host.problems] == ["a"]


@pytest.mark.parametrize("toolsets", [("todo",), ("a", "todo"), ("todo", "a")])
async def test_a_replacement_is_there_wherever_the_original_would_be(
    hermes, toolsets: tuple[str, ...]
) -> None:
    plugins = kits(a=("todo", "saw"))
    with ScriptedServer([replies.call("todo"), replies.say("done")]) as server:
        async with hermes(
            plugins=plugins,
            settings={"plugins.a.overrides": ["todo"]},
            server=server,
            toolsets=toolsets,
        ) as host:
            await host.ask("go")
            session = await host.session()
    assert session.history[2].text == "from a"
    names = [one.name for one in session.tools]
    assert names == (["saw", "todo"] if "a" in toolsets else ["todo"])


async def test_the_model_never_gets_two_tools_of_one_name(hermes) -> None:
    plugins = kits(a=("saw", "todo"), b=("saw",))
    with ScriptedServer([replies.say("hello")]) as server:
        async with hermes(plugins=plugins, server=server) as host:
            await host.ask("hi")
        names = [one["function"]["name"] for one in server.requests[0].json["tools"]]
    assert len(names) == len(set(names))
    assert "todo" in names


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
async def test_two_strangers_cannot_be_one_provider(hermes, order: tuple[str, str]) -> None:
    class Vendor:
        def __init__(self, name: str, alias: str) -> None:
            self._profile = ProviderProfile(id=name, aliases=(alias,), dialect="chat_completions")

        @hookimpl
        def hermes_register_providers(self) -> list[ProviderProfile]:
            return [self._profile]

    plugins = {("hermes.providers", name): Vendor(name, "shared") for name in ("a", "b")}
    async with hermes(plugins=plugins) as host:
        for name in order:
            await host.runtime.host.load("hermes.providers", [name])
        assert not any(one.providers for one in host.runtime.host.loaded.values())
        told = sorted(one.text for one in host.runtime.host.problems)
    assert told == [
        "provider shared is also offered by a",
        "provider shared is also offered by b",
    ]


@pytest.mark.parametrize(
    ("question", "told"),
    [
        (
            SetupQuestion(key="MOON_KEY", text="Key", kind="secret"),
            "its setup asks for MOON_KEY, which it does not name in ConfigSection.env.",
        ),
        (
            SetupQuestion(key="gate.mode", text="Mode", kind="choice"),
            "its setup gives nothing to choose from for gate.mode.",
        ),
        (
            SetupQuestion(key="agent.name", text="Name", only_if="memory.enabled"),
            "its setup asks for agent.name only if memory.enabled, which is not asked before.",
        ),
    ],
)
async def test_questions_that_cannot_be_asked_are_a_problem_of_their_plugin(
    hermes, question: SetupQuestion, told: str
) -> None:
    class Plugin:
        @hookimpl
        def hermes_register_setup(self) -> list[SetupSection]:
            return [SetupSection(part="agent", title="P", questions=(question,))]

    async with hermes(plugins={("hermes.lifecycle", "p"): Plugin()}) as host:
        assert await host.runtime.host.load("hermes.lifecycle", ["p"]) == []
        assert [one.text for one in host.runtime.host.problems] == [told]
