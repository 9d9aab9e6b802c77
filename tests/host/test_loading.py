"""Loading is a transaction: a plugin is part of the host whole, or not at all and reported."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

import hermes_core.host as host_module
from hermes_core import dispatch
from hermes_plugins import (
    Allow,
    CallView,
    ConfigSection,
    HermesError,
    Host,
    PluginError,
    ProviderProfile,
    Pure,
    Section,
    Tool,
    hookimpl,
    tool,
)
from hermes_plugins.testing import ScriptedServer, TestHost, replies

HEAD = "from hermes_plugins import hookimpl\n\n"


def a_tool(name: str = "saw", *, toolset: str = "p", aliases: tuple[str, ...] = ()) -> Tool:
    @tool(name=name, toolset=toolset, effects=[Pure()], aliases=aliases)
    async def build() -> str:
        """Do it."""
        return name

    return build


async def load(host: TestHost, group: str = "hermes.tools", name: str = "p") -> str:
    """Load one plugin; returns what is wrong with it, with the hint."""
    await host.runtime.host.load(group, [name])
    return " ".join(
        f"{one.text} {one.hint}".strip() for one in host.runtime.host.problems if one.plugin == name
    )


def leaves_nothing(host: TestHost, name: str = "p") -> bool:
    inner = host.runtime.host
    hooks = vars(inner.dispatch._plugins.hook)
    return name not in inner.loaded and not any(
        impl.plugin_name == name for hook in hooks.values() for impl in hook.get_hookimpls()
    )


# -- what a plugin's code may do at its import ------------------------------------------


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (
            "raise ValueError('no such luck\\nmore')",
            "its import failed (ValueError: no such luck).",
        ),
        ("raise SystemExit(1)", "its import failed (SystemExit: 1)."),
        ("raise KeyboardInterrupt", "its import failed (RuntimeError: KeyboardInterrupt)."),
        ("import not_there_at_all", "No module named 'not_there_at_all'"),
        ("def broken(:", "its import failed (SyntaxError:"),
    ],
)
async def test_an_import_that_fails_is_one_line_that_names_the_way_out(
    hermes, shelf, source: str, told: str
) -> None:
    shelf.put("hermes-plugin-p", {"hermes.tools/p": "hermes_plugin_p"}, module=source)
    async with hermes(settings={"plugins.enabled": ["p"]}) as host:
        said = await load(host)
        assert told in said
        assert said.endswith("`hermes plugins disable p` goes on without it.")
        assert "\n" not in said
        assert leaves_nothing(host)


async def test_an_import_that_hangs_is_given_up(hermes, shelf, monkeypatch) -> None:
    monkeypatch.setattr(host_module, "IMPORT_DEADLINE", 0.05)
    source = "import threading\nthreading.Event().wait(3)\n"
    points = {"hermes.tools/sleeper": "hermes_plugin_sleeper"}
    shelf.put("hermes-plugin-sleeper", points, module=source)
    async with hermes(settings={"plugins.enabled": ["sleeper"]}) as host:
        said = await load(host, name="sleeper")
        assert "its import took longer than 0.05 s." in said
        assert leaves_nothing(host, "sleeper")


async def test_what_an_import_or_a_declaration_prints_does_not_reach_stdout(
    hermes, shelf, capsys
) -> None:
    source = (
        f"{HEAD}print('welcome to p')\n@hookimpl\ndef hermes_register_tools():\n"
        "    print('these are my tools')\n    return []\n"
    )
    shelf.put("hermes-plugin-p", {"hermes.tools/p": "hermes_plugin_p"}, module=source)
    async with hermes(settings={"plugins.enabled": ["p"]}) as host:
        assert await load(host) == ""
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "welcome to p\nthese are my tools\n"


# -- what an entry point may name --------------------------------------------------------


async def test_a_class_is_made_once_per_host(hermes) -> None:
    made: list[object] = []

    class Plugin:
        def __init__(self) -> None:
            made.append(self)

        @hookimpl
        def hermes_register_tools(self) -> list[Tool]:
            return []

        @hookimpl
        async def hermes_on_start(self) -> None: ...

    plugins = {("hermes.tools", "p"): Plugin, ("hermes.memory", "p"): Plugin}
    async with hermes(plugins=plugins) as first, hermes(plugins=plugins) as second:
        for host in (first, second):
            await load(host)
            await load(host, "hermes.memory")
            await load(host)
    assert len(made) == 2


@pytest.mark.parametrize("how", ["raises", "hangs"])
async def test_a_constructor_that_fails_is_reported(hermes, monkeypatch, how: str) -> None:
    monkeypatch.setattr(host_module, "MAKE_DEADLINE", 0.05)
    release = threading.Event()

    class Plugin:
        def __init__(self) -> None:
            if how == "raises":
                raise OSError("no room")
            release.wait(20)

        @hookimpl
        def hermes_register_tools(self) -> list[Tool]:
            return []

    async with hermes(plugins={("hermes.tools", "p"): Plugin}) as host:
        said = await load(host)
        release.set()
    expected = {"raises": "failed (OSError: no room).", "hangs": "took longer than 0.05 s."}
    assert f"its constructor {expected[how]}" in said
    assert leaves_nothing(host)


async def test_an_entry_point_that_names_a_function_is_told_what_to_name(hermes, shelf) -> None:
    shelf.put(
        "hermes-plugin-p",
        {"hermes.tools/p": "hermes_plugin_p:register"},
        module="def register(ctx): ...\n",
    )
    async with hermes(settings={"plugins.enabled": ["p"]}) as host:
        assert await load(host) == (
            "the entry point p in hermes.tools names a function (hermes_plugin_p:register). "
            "Name the module (hermes_plugin_p) or a class; its functions marked with @hookimpl are "
            "found, nothing has to register them."
        )


async def test_an_entry_point_that_names_nothing_that_exists_is_reported(hermes, shelf) -> None:
    shelf.put("hermes-plugin-p", {"hermes.tools/p": "hermes_plugin_p:Gone"}, module=HEAD)
    async with hermes(settings={"plugins.enabled": ["p"]}) as host:
        assert "has no attribute 'Gone'" in await load(host)


async def test_an_object_with_no_hooks_is_refused_because_it_would_do_nothing(hermes) -> None:
    async with hermes(plugins={("hermes.tools", "p"): ModuleType("empty")}) as host:
        assert "it has no function marked with @hookimpl, so it would do nothing." in await load(
            host
        )


async def test_an_object_whose_attributes_raise_harms_nobody(hermes) -> None:
    class Odd:
        def __dir__(self) -> list[str]:
            raise OSError("go away")

    plugins = {("hermes.tools", "p"): Odd(), ("hermes.tools", "q"): ToolsOnly("q")}
    async with hermes(plugins=plugins) as host:
        assert "it cannot be loaded (OSError: go away)" in await load(host)
        assert await load(host, name="q") == ""


class ToolsOnly:
    def __init__(self, toolset: str = "p", *tools: Tool) -> None:
        self._tools = tools or (a_tool(f"saw_{toolset}", toolset=toolset),)

    @hookimpl
    def hermes_register_tools(self) -> list[Tool]:
        return list(self._tools)


# -- hooks that cannot be honoured -------------------------------------------------------


def with_hook(name: str, function: object) -> object:
    plugin = ModuleType("plugin")
    setattr(plugin, name, function)
    return plugin


@pytest.mark.parametrize(
    ("options", "mark"),
    [
        ({"wrapper": True}, "wrapper"),
        ({"hookwrapper": True}, "hookwrapper"),
        ({"tryfirst": True}, "tryfirst"),
        ({"trylast": True}, "trylast"),
        ({"specname": "hermes_on_stop"}, "specname"),
    ],
)
async def test_what_makes_order_depend_on_import_order_is_refused(
    hermes, options: dict[str, object], mark: str
) -> None:
    def hermes_on_start() -> object:
        yield

    if "wrapper" not in mark:

        def hermes_on_start() -> object:
            return None

    plugin = with_hook("hermes_on_start", hookimpl(**options)(hermes_on_start))  # type: ignore[call-overload]
    async with hermes(plugins={("hermes.tools", "p"): plugin}) as host:
        said = await load(host)
        assert f"hermes_on_start uses {mark}, which this host does not honour." in said
        assert "order is configuration order, then name" in said
        assert leaves_nothing(host)


@pytest.mark.parametrize(
    ("name", "guessed"),
    [
        ("hermes_on_turn_begin", ""),
        ("hermes_on_toolcall", " (did you mean hermes_on_tool_call?)"),
        ("hermes_register_tool", " (did you mean hermes_register_tools?)"),
        ("on_start", ""),
    ],
)
async def test_a_hook_that_does_not_exist_is_named_with_the_closest_that_does(
    hermes, name: str, guessed: str
) -> None:
    plugin = with_hook(name, hookimpl(lambda: None))
    async with hermes(plugins={("hermes.tools", "p"): plugin}) as host:
        said = await load(host)
        assert said.startswith(f"there is no hook {name}{guessed}") or not guessed
        assert f"there is no hook {name}" in said
        assert "docs/reference/hooks.md" in said
        assert leaves_nothing(host)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("async def hermes_on_turn_start(mesage): ...", "(did you mean message?)."),
        ("async def hermes_on_turn_start(it): ...", "It gives: host, message, session, turn."),
        ("async def hermes_on_turn_start(message, /): ...", "asks for positional-only 'message'"),
        ("async def hermes_on_turn_start(*, reply): ...", "asks for 'reply'"),
        ("async def hermes_register_tools(): ...", "hermes_register_tools must be a plain function"),
        ("def hermes_register_tools(host): ...", "this hook does not give. It gives: no arguments."),
        ("def hermes_on_turn_start(message):\n    yield", "is a generator; use return where"),
        ("async def hermes_transform_turn(added):\n    yield", "hermes_transform_turn is a generator"),
    ],
)  # fmt: skip
async def test_a_function_that_could_not_be_called_is_refused_when_it_is_loaded(
    hermes, source: str, told: str
) -> None:
    space: dict[str, object] = {}
    exec(source, space)
    (name,) = [key for key in space if key.startswith("hermes_")]
    plugin = with_hook(name, hookimpl(space[name]))  # type: ignore[call-overload]
    plugins = {("hermes.tools", "p"): plugin, ("hermes.lifecycle", "p"): plugin}
    async with hermes(plugins=plugins) as host:
        assert told in await load(host)
        assert leaves_nothing(host)


@pytest.mark.parametrize(
    ("group", "hook", "homes"),
    [
        ("hermes.tools", "hermes_before_tool_call", "hermes.policies"),
        ("hermes.lifecycle", "hermes_register_tools", "hermes.tools or hermes.memory"),
        ("hermes.policies", "hermes_transform_tool_call", "hermes.lifecycle"),
        ("hermes.tools", "hermes_register_providers", "hermes.providers"),
    ],
)
async def test_a_hook_in_a_group_where_nobody_calls_it_names_the_group_to_add(
    hermes, log, group: str, hook: str, homes: str
) -> None:
    async with hermes(plugins={(group, "p"): log.plugin(hook, plain=True)}) as host:
        assert await load(host, group) == (
            f"{hook} is not honoured in {group}. "
            f"Name the plugin in the entry-point group {homes} too."
        )
        assert leaves_nothing(host)


async def test_a_plugin_named_in_both_groups_may_use_the_hooks_of_both(hermes, log) -> None:
    plugin = log.plugin("hermes_before_tool_call", "hermes_transform_turn")
    plugins = {("hermes.policies", "p"): plugin, ("hermes.lifecycle", "p"): plugin}
    with ScriptedServer([replies.say("hello")]) as server:
        async with hermes(plugins=plugins, server=server) as host:
            await host.ask("hi")
    assert log.names == ["hermes_transform_turn"]
    assert host.runtime.host.problems == []


async def test_a_function_that_looks_like_a_hook_but_is_not_marked_is_reported(hermes) -> None:
    class Plugin(ToolsOnly):
        async def hermes_on_start(self) -> None: ...

        def hermes_helper(self) -> None: ...

    async with hermes(plugins={("hermes.tools", "p"): Plugin()}) as host:
        assert await load(host) == (
            "hermes_on_start is not marked with @hookimpl and is never called"
        )
        assert "p" in host.runtime.host.loaded


async def test_a_policy_that_judges_nothing_is_refused(hermes, log) -> None:
    plugin = log.plugin("hermes_on_turn_start")
    async with hermes(plugins={("hermes.policies", "p"): plugin}) as host:
        with pytest.raises(PluginError, match="it has no hermes_before_ hook"):
            await host.runtime.start()


# -- what a plugin declares --------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        (ValueError("no"), "hermes_register_tools raised ValueError: no"),
        (SystemExit(2), "hermes_register_tools raised SystemExit: 2"),
        ("saw", "hermes_register_tools gave a str where a Tool belongs."),
        (7, "hermes_register_tools raised TypeError"),
        ([a_tool(), {"name": "dict"}], "hermes_register_tools gave a dict where a Tool belongs."),
        ([a_tool(), a_tool()], "it offers tool saw twice."),
        ([a_tool(), a_tool("axe", aliases=("saw",))], "it offers tool saw twice."),
        (
            [a_tool(toolset="elsewhere")],
            "tool saw belongs to toolset 'elsewhere', which no entry point of this plugin names "
            "(there is: p).",
        ),
    ],
)
async def test_a_declaration_that_cannot_be_used_drops_the_plugin_whole(
    hermes, declared: object, told: str
) -> None:
    class Plugin:
        @hookimpl
        def hermes_register_tools(self) -> object:
            if isinstance(declared, BaseException):
                raise declared
            return declared

        @hookimpl
        async def hermes_on_start(self) -> None: ...

    async with hermes(plugins={("hermes.tools", "p"): Plugin()}) as host:
        assert told in await load(host)
        assert leaves_nothing(host)


async def test_a_declaration_that_hangs_drops_the_plugin_whole(hermes, monkeypatch) -> None:
    monkeypatch.setitem(dispatch.DEADLINES, "register", 0.05)
    release = threading.Event()

    class Plugin:
        @hookimpl
        def hermes_register_tools(self) -> object:
            release.wait(20)
            return []

    async with hermes(plugins={("hermes.tools", "p"): Plugin()}) as host:
        assert "hermes_register_tools took longer than 0.05 s" in await load(host)
        release.set()
        assert leaves_nothing(host)


async def test_a_declaration_may_be_a_generator_or_nothing(hermes) -> None:
    class Yields:
        @hookimpl
        def hermes_register_tools(self) -> object:
            yield a_tool("one")
            yield a_tool("two")

    class Nothing:
        @hookimpl
        def hermes_register_tools(self) -> None: ...

    plugins = {("hermes.tools", "p"): Yields(), ("hermes.tools", "q"): Nothing()}
    async with hermes(plugins=plugins) as host:
        assert await load(host) + await load(host, name="q") == ""
        loaded = host.runtime.host.loaded
        assert [one.name for one in loaded["p"].tools] == ["one", "two"]
        assert loaded["q"].tools == ()


async def test_a_provider_that_no_entry_point_names_is_refused(hermes) -> None:
    class Plugin:
        @hookimpl
        def hermes_register_providers(self) -> list[ProviderProfile]:
            return [ProviderProfile(id="other", dialect="chat_completions")]

    async with hermes(plugins={("hermes.providers", "p"): Plugin()}) as host:
        assert (
            "no entry point in hermes.providers names its provider 'other' (there is: p)."
            in await load(host, "hermes.providers")
        )


async def test_a_plugin_cannot_declare_somebody_elses_settings(hermes) -> None:
    class Mine(Section, frozen=True, kw_only=True):
        pass

    class Plugin:
        @hookimpl
        def hermes_register_config(self) -> list[ConfigSection]:
            return [ConfigSection(name="terminal", schema=Mine)]

    async with hermes(plugins={("hermes.tools", "p"): Plugin()}) as host:
        assert "it declares the settings plugins.terminal; its own are plugins.p." in await load(
            host
        )


async def test_one_broken_plugin_does_not_keep_the_others_from_working(hermes, workshop) -> None:
    class Broken:
        @hookimpl
        def hermes_register_tools(self) -> object:
            raise ValueError("no")

    plugins = {**workshop, ("hermes.tools", "broken"): Broken()}
    with ScriptedServer([replies.say("hello")]) as server:
        async with hermes(plugins=plugins, server=server, toolsets=("workshop", "broken")) as host:
            assert (await host.ask("hi")).text == "hello"
            names = [one.name for one in (await host.session()).tools]
    assert names == ["hammer"]
    assert [one.plugin for one in host.runtime.host.problems] == ["broken"]


async def test_a_plugin_that_failed_is_not_tried_again_in_this_process(hermes) -> None:
    tries: list[int] = []

    class Plugin:
        @hookimpl
        def hermes_register_tools(self) -> object:
            tries.append(1)
            raise ValueError("no")

    async with hermes(plugins={("hermes.tools", "p"): Plugin()}) as host:
        await load(host)
        await load(host)
    assert len(tries) == 1


async def test_loads_at_the_same_time_load_a_plugin_once(hermes) -> None:
    made: list[int] = []

    class Plugin(ToolsOnly):
        def __init__(self) -> None:
            super().__init__()
            made.append(1)

    async with hermes(plugins={("hermes.tools", "p"): Plugin}) as host:
        both = await asyncio.gather(
            *(host.runtime.host.load("hermes.tools", ["p"]) for _ in range(2))
        )
    assert [[one.name for one in loaded] for loaded in both] == [["p"], ["p"]]
    assert (len(made), host.runtime.host.problems) == (1, [])


# -- two hosts ---------------------------------------------------------------------------


async def test_two_hosts_in_one_process_share_nothing(hermes, hermes_home, monkeypatch) -> None:
    class Counter:
        def __init__(self) -> None:
            self.turns: list[str] = []

        @hookimpl
        async def hermes_on_turn_start(self, host: Host) -> None:
            self.turns.append(str(host.paths.home))

    plugins = {("hermes.lifecycle", "p"): Counter}
    with ScriptedServer([], then=replies.say("hello")) as server:
        async with hermes(plugins=plugins, server=server) as first:
            monkeypatch.setenv("HERMES_HOME", str(hermes_home.with_name("second")))
            async with hermes(plugins=plugins, server=server) as second:
                await first.ask("hi")
                await first.ask("hi")
                await second.ask("hi")
                hosts = [first.runtime, second.runtime]
                for runtime in hosts:
                    await runtime.host.dispatch.drain(5)
    registered = [runtime.host.dispatch._plugins.get_plugin("p") for runtime in hosts]
    assert registered[0] is not registered[1]
    assert registered[0].turns == [str(hermes_home)] * 2
    assert registered[1].turns == [str(hermes_home.with_name("second"))]


async def test_a_folder_of_one_host_is_not_an_installed_place_for_the_other(
    hermes, shelf, hermes_home, monkeypatch
) -> None:
    shelf.toolset("p", "saw")
    async with hermes(settings={"plugins.enabled": ["p"]}) as first:
        assert await load(first) == ""
        assert str(shelf.plugins / "hermes-plugin-p") in sys.path
        monkeypatch.setenv("HERMES_HOME", str(hermes_home.with_name("second")))
        async with hermes(settings={"plugins.enabled": ["p"]}) as second:
            assert not [one for one in second.runtime.host.found if one.plugin == "p"]


# -- policies and what is required -------------------------------------------------------


class Judge:
    @hookimpl
    async def hermes_before_tool_call(self, call: CallView) -> Allow:
        return Allow()


async def test_an_enabled_policy_that_is_not_loaded_lets_no_agent_start(hermes, shelf) -> None:
    shelf.put(
        "hermes-plugin-guard", {"hermes.policies/guard": "hermes_plugin_guard"}, module="1 / 0\n"
    )
    async with hermes(settings={"plugins.enabled": ["guard"]}) as host:
        with pytest.raises(PluginError) as caught:
            await host.session()
    assert caught.value.message == (
        "plugin guard: this policy is enabled but not loaded: its import failed "
        "(ZeroDivisionError: division by zero)."
    )
    assert "`hermes plugins disable guard`" in caught.value.hint


async def test_asking_again_does_not_start_without_the_policy(hermes, shelf) -> None:
    shelf.put(
        "hermes-plugin-guard", {"hermes.policies/guard": "hermes_plugin_guard"}, module="1 / 0\n"
    )
    async with hermes(settings={"plugins.enabled": ["guard"]}) as host:
        for _ in range(2):
            with pytest.raises(PluginError, match="this policy is enabled but not loaded"):
                await host.session()


async def test_sessions_that_are_opened_at_the_same_time_all_wait_for_the_policies(hermes) -> None:
    loaded: list[bool] = []

    class Slow(Judge):
        def __init__(self) -> None:
            threading.Event().wait(0.05)

    async with hermes(plugins={("hermes.policies", "p"): Slow}) as host:

        async def start() -> None:
            await host.runtime.start()
            loaded.append("p" in host.runtime.host.loaded)

        await asyncio.gather(start(), start())
    assert loaded == [True, True]


async def test_a_policy_that_is_off_is_no_obstacle(hermes, shelf) -> None:
    shelf.put(
        "hermes-plugin-guard", {"hermes.policies/guard": "hermes_plugin_guard"}, module="1 / 0\n"
    )
    async with hermes() as host:
        await host.runtime.start()


async def test_an_enabled_policy_that_is_refused_for_its_name_lets_no_agent_start(
    hermes, shelf
) -> None:
    for name in ("guard-one", "guard-two"):
        shelf.put(
            f"hermes-plugin-{name}",
            {"hermes.policies/guard": f"hermes_plugin_{name.replace('-', '_')}"},
        )
    async with hermes(settings={"plugins.enabled": ["guard-one", "guard-two"]}) as host:
        with pytest.raises(PluginError, match=r"both offer guard in hermes\.policies"):
            await host.runtime.start()


async def test_a_policy_whose_tool_collides_keeps_judging(hermes) -> None:
    class Both(Judge):
        @hookimpl
        def hermes_register_tools(self) -> list[Tool]:
            return [a_tool("todo")]

    plugin = Both()
    plugins = {("hermes.policies", "p"): plugin, ("hermes.tools", "p"): plugin}
    async with hermes(plugins=plugins) as host:
        await host.runtime.start()
        await host.runtime.host.load("hermes.tools", ["todo", "p"])
        loaded = host.runtime.host.loaded
        assert [one.name for one in loaded["todo"].tools] == ["todo"]
        assert loaded["p"].tools == ()
        assert host.runtime.host.dispatch.has("hermes_before_tool_call")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"plugins.required": ["guard"]}, "plugins.required names it, but it is not installed."),
        (
            {"plugins.required": ["now"]},
            "plugins.required names it, but it is found but off; `hermes plugins enable now`",
        ),
        (
            {"plugins.required": ["todo"], "plugins.disabled": ["todo"]},
            "plugins.required names it, but it is disabled; `hermes plugins enable todo`",
        ),
    ],
)
async def test_a_required_plugin_that_is_missing_or_off_lets_no_agent_start(
    hermes, settings: dict[str, object], told: str
) -> None:
    async with hermes(settings=settings) as host:
        with pytest.raises(PluginError) as caught:
            await host.session()
    assert told in caught.value.message


async def test_a_required_plugin_that_fails_lets_no_agent_start(hermes, shelf) -> None:
    shelf.put("hermes-plugin-p", {"hermes.tools/p": "hermes_plugin_p"}, module="1 / 0\n")
    settings = {"plugins.enabled": ["p"], "plugins.required": ["p"]}
    async with hermes(settings=settings) as host:
        with pytest.raises(PluginError) as caught:
            await host.session()
    assert "plugins.required names it, but it is not loaded: its import" in caught.value.message


async def test_a_required_plugin_that_works_is_no_obstacle(hermes) -> None:
    settings = {"plugins.required": ["todo", "hermes-plugin-terminal", "chat-completions"]}
    async with hermes(settings=settings) as host:
        await host.runtime.start()
        assert {"todo", "terminal"} <= set(host.runtime.host.loaded)


def test_a_policy_that_keeps_hermes_from_starting_can_be_switched_off(
    command, shelf, hermes_home: Path
) -> None:
    shelf.put(
        "hermes-plugin-guard", {"hermes.policies/guard": "hermes_plugin_guard"}, module="1 / 0\n"
    )
    (hermes_home / "hermes.yaml").write_text("plugins:\n  enabled: [guard]\n", encoding="utf-8")
    refused = command.run("chat", "-q", "help", "--provider", "offline")
    assert refused.status == 1
    assert refused.out == ""
    assert "plugin guard: this policy is enabled but not loaded" in refused.err
    assert "hermes plugins disable guard" in refused.err
    assert command.run("plugins", "disable", "guard").status == 0
    assert command.run("chat", "-q", "help", "--provider", "offline").status == 0


# -- --plugin MODULE ---------------------------------------------------------------------


async def test_a_module_on_the_command_line_is_on_with_all_its_hooks(hermes, shelf) -> None:
    source = (
        "from hermes_plugins import Deny, Pure, hookimpl, tool\n\n"
        "@tool(toolset='mine', effects=[Pure()])\n"
        "async def saw() -> str:\n    'Saw.'\n    return 'ok'\n\n"
        "@hookimpl\ndef hermes_register_tools():\n    return [saw]\n\n"
        "@hookimpl\nasync def hermes_before_tool_call(call):\n    return Deny('not you')\n\n"
        "@hookimpl\nasync def hermes_transform_turn(added):\n    return [*added, 'extra']\n"
    )
    (shelf.installed / "mine.py").write_text(source, encoding="utf-8")
    with ScriptedServer([replies.call("saw"), replies.say("done")]) as server:
        async with hermes(modules=["mine"], server=server) as host:
            await host.ask("hi")
            history = (await host.session()).history
    assert history[0].added == ("extra",)
    assert "not you" in history[2].text
    assert host.runtime.host.problems == []


async def test_a_module_on_the_command_line_that_fails_ends_the_start(hermes) -> None:
    async with hermes(modules=["not_there_at_all"]) as host:
        with pytest.raises(HermesError, match="No module named 'not_there_at_all'"):
            await host.session()


async def test_an_installed_plugin_named_on_the_command_line_is_loaded_once(hermes) -> None:
    async with hermes(modules=["hermes_plugin_now", "hermes_plugin_todo"]) as host:
        await host.session()
        assert {"now", "todo"} <= set(host.runtime.host.loaded)
        assert host.runtime.host.problems == []


async def test_a_module_on_the_command_line_wins_over_plugins_disabled(hermes, shelf) -> None:
    shelf.toolset("saw", "cut")
    settings = {"plugins.enabled": ["saw"], "plugins.disabled": ["saw", "todo"]}
    sys.path.append(str(shelf.plugins / "hermes-plugin-saw"))
    modules = ["hermes_plugin_saw", "hermes_plugin_todo"]
    async with hermes(modules=modules, settings=settings) as host:
        await host.session()
        assert {"saw", "todo"} <= set(host.runtime.host.loaded)
        assert host.runtime.host.problems == []
    async with hermes(modules=modules[1:], settings=settings) as host:
        await host.session()
        assert "saw" not in host.runtime.host.loaded


# -- what is enabled but not there ---------------------------------------------------------


async def test_a_name_in_plugins_enabled_that_is_not_installed_is_told(hermes, shelf) -> None:
    (shelf.toolset("torn", "cut") / "METADATA").unlink()
    enabled = ["gone", "todo", "hermes-plugin-now", "torn", "off"]
    settings = {"plugins.enabled": enabled, "plugins.disabled": ["off"]}
    async with hermes(settings=settings) as host:
        assert host.runtime.host.missing == ("gone",)
        told = [(one.text, one.hint) for one in host.runtime.host.problems if not one.plugin]
    assert told == [
        (
            "gone is in plugins.enabled but not installed.",
            "`hermes plugins disable gone` forgets it.",
        )
    ]


# -- services ----------------------------------------------------------------------------


async def test_services_of_a_family_come_in_rank_order_each_made_once(hermes) -> None:
    made: list[str] = []

    def factory(name: str) -> object:
        def make(host: Host) -> str:
            made.append(name)
            return f"{name} for {host.plugin}"

        return make

    def broken(host: Host) -> str:
        raise OSError("no key")

    plugins = {
        ("hermes.services", "web_search.b"): factory("b"),
        ("hermes.services", "web_search.a"): factory("a"),
        ("hermes.services", "web_search.c"): broken,
        ("hermes.services", "vision.x"): factory("x"),
    }
    settings = {"plugins.enabled": ["web_search.b"]}
    async with hermes(plugins=plugins, settings=settings) as host:
        for _ in range(2):
            assert await host.runtime.handle("p").services("web_search") == [
                "b for web_search.b",
                "a for web_search.a",
            ]
    assert made == ["b", "a"]
    assert [one.text for one in host.runtime.host.problems] == [
        "making its service web_search.c failed (OSError: no key)."
    ]


async def test_a_driver_that_nobody_offers_is_named_with_the_closest_that_exists(hermes) -> None:
    async with hermes(settings={"terminal.environment": "locl"}) as host:
        with pytest.raises(PluginError) as caught:
            await host.runtime.host.driver("hermes.environments", "locl")
    assert "no installed plugin offers this environment (did you mean local?)" in str(caught.value)
