"""Which tools a session gets: named sets, faces, what is forbidden, what cannot be used now."""

from __future__ import annotations

import threading

import pytest

from hermes_core import registry
from hermes_core.registry import Availability, Owned, Toolbox, permitted
from hermes_core.threads import Threads
from hermes_core.toolsets import Selection, ToolsetSettings, select
from hermes_plugins import Pure, Tool, UsageError, hookimpl, tool
from hermes_plugins.testing import ScriptedServer, VirtualClock, replies

INSTALLED = ("file", "terminal", "web")


def chosen(*names: str, **named: ToolsetSettings) -> Selection:
    return select(names, named=named, installed=INSTALLED)


def a_set(*includes: str, tools: tuple[str, ...] = ()) -> ToolsetSettings:
    return ToolsetSettings(includes=includes, tools=tools)


def a_tool(name: str, *aliases: str, available: object = None) -> Tool:
    @tool(
        name=name,
        toolset="kit",
        effects=[Pure()],
        aliases=aliases,
        available=available,  # type: ignore[arg-type]
    )
    async def build() -> str:
        """Do it."""
        return name

    return build


# -- sets --------------------------------------------------------------------------------


def test_installed_toolsets_come_whole_once_and_in_the_order_in_which_they_were_named() -> None:
    assert chosen("web", "file", "web") == Selection(toolsets=("web", "file"))


def test_a_set_includes_toolsets_and_single_tools() -> None:
    sets = {"dev": a_set("file", tools=("terminal", "todo"))}
    assert chosen("dev", **sets) == Selection(
        toolsets=("file",), tools=frozenset({"terminal", "todo"})
    )


def test_sets_nest_and_what_two_of_them_include_comes_once() -> None:
    sets = {"all": a_set("left", "right"), "left": a_set("file"), "right": a_set("file", "web")}
    assert chosen("all", **sets) == Selection(toolsets=("file", "web"))


def test_a_set_may_have_the_name_of_an_installed_toolset_and_replaces_it() -> None:
    assert chosen("file", file=a_set(tools=("read_file",))) == Selection(
        toolsets=(), tools=frozenset({"read_file"})
    )


@pytest.mark.parametrize(
    ("sets", "circle"),
    [
        ({"a": a_set("a")}, "a -> a"),
        ({"a": a_set("b"), "b": a_set("c"), "c": a_set("b")}, "b -> c -> b"),
    ],
)
def test_a_circle_is_an_error_that_shows_itself(
    sets: dict[str, ToolsetSettings], circle: str
) -> None:
    with pytest.raises(UsageError) as caught:
        chosen("a", **sets)
    assert caught.value.message == f"toolsets include each other: {circle}."


def test_an_unknown_toolset_is_named_with_the_closest_one() -> None:
    with pytest.raises(UsageError) as caught:
        chosen("trminal")
    assert str(caught.value) == (
        "no toolset 'trminal' is installed (did you mean terminal?). "
        "`hermes plugins list` shows what is there."
    )


def test_a_toolset_that_is_off_is_told_with_the_command_that_switches_it_on() -> None:
    with pytest.raises(UsageError) as caught:
        select(
            ["extra"],
            named={},
            installed=INSTALLED,
            off={"extra": "found but off; `hermes plugins enable extra`"},
        )
    assert caught.value.message == "toolset extra is found but off; `hermes plugins enable extra`"


async def tools_of(hermes, **options: object) -> list[str]:
    with ScriptedServer([]) as server:
        async with hermes(server=server, **options) as host:
            return [one.name for one in (await host.session()).tools]


async def test_a_session_asks_for_a_toolset_that_is_off(hermes, shelf) -> None:
    shelf.toolset("extra", "saw")
    with pytest.raises(UsageError, match="toolset extra is found but off"):
        await tools_of(hermes, toolsets=("extra",))


async def test_named_sets_of_hermes_yaml_choose_single_tools(hermes) -> None:
    settings = {
        "toolsets.small.tools": ["read_file", "todo"],
        "toolsets.mine.includes": ["small", "clarify"],
    }
    names = await tools_of(hermes, settings=settings, toolsets=("mine",))
    assert names == ["clarify", "read_file", "todo"]


async def test_each_face_has_toolsets_of_its_own(hermes) -> None:
    settings = {"toolsets.by_face.cron": ["todo"]}
    assert await tools_of(hermes, settings=settings, face="cron") == ["todo"]
    assert "read_file" in await tools_of(hermes, settings=settings, face="cli")


async def test_a_toolset_of_a_face_that_is_not_there_is_reported(hermes) -> None:
    with ScriptedServer([]) as server:
        async with hermes(
            server=server, settings={"toolsets.by_face.cli": ["todo", "tdo"]}
        ) as host:
            assert [one.name for one in (await host.session()).tools] == ["todo"]
            told = [one.text for one in host.runtime.host.problems]
    assert told == ["toolsets.by_face names 'tdo', which is not installed"]


# -- the toolbox -------------------------------------------------------------------------


def test_a_toolbox_finds_tools_by_name_and_alias_and_lists_them_by_name() -> None:
    box = Toolbox([Owned(a_tool("saw", "cut"), "p"), Owned(a_tool("axe"), "q")])
    assert (box.names(), len(box)) == (("axe", "saw"), 2)
    assert [one.name for one in box.specs()] == ["axe", "saw"]
    for name in ("saw", "cut"):
        found = box.get(name)
        assert found is not None
        assert (found.tool.name, found.plugin) == ("saw", "p")
    assert box.get("hammer") is None


@pytest.mark.parametrize(
    ("allowed", "blocked", "left"),
    [
        (("all",), (), ["saw", "axe"]),
        (("all",), ("saw",), ["axe"]),
        (("all",), ("cut",), ["axe"]),
        (("cut",), (), ["saw"]),
        (("saw", "axe"), ("saw",), ["axe"]),
        ((), (), []),
    ],
)
def test_tools_are_allowed_and_blocked_by_name_or_alias(
    allowed: tuple[str, ...], blocked: tuple[str, ...], left: list[str]
) -> None:
    owned = [Owned(a_tool("saw", "cut"), "p"), Owned(a_tool("axe"), "p")]
    kept = permitted(owned, allowed=allowed, blocked=blocked)
    assert [one.tool.name for one in kept] == left


# -- availability ------------------------------------------------------------------------


class Probe:
    def __init__(self, answer: object = "") -> None:
        self.answer = answer
        self.asked = 0

    def __call__(self) -> object:
        self.asked += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


async def test_an_answer_is_kept_for_thirty_seconds() -> None:
    clock, probe = VirtualClock(), Probe("no key")
    availability = Availability(clock, Threads("test"))
    saw = a_tool("saw", available=probe)
    for _ in range(2):
        assert await availability.reasons([saw, a_tool("axe")]) == {"saw": "no key"}
    await clock.advance(registry.AVAILABLE_SECONDS - 0.1)
    probe.answer = ""
    assert await availability.reasons([saw]) == {"saw": "no key"}
    assert probe.asked == 1
    await clock.advance(0.1)
    assert await availability.reasons([saw]) == {}
    assert probe.asked == 2


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (OSError("no\nroute"), "its check failed (OSError: no"),
        (SystemExit(1), "its check failed (SystemExit: 1)"),
        (None, ""),
    ],
)
async def test_a_check_that_raises_is_a_reason_too(answer: object, told: str) -> None:
    availability = Availability(VirtualClock(), Threads("test"))
    reasons = await availability.reasons([a_tool("saw", available=Probe(answer))])
    assert reasons.get("saw", "") == told


async def test_a_check_that_hangs_keeps_no_session_from_starting(hermes, monkeypatch) -> None:
    monkeypatch.setattr(registry, "PROBE_SECONDS", 0.05)
    release = threading.Event()

    def hangs() -> str:
        release.wait(20)
        return ""

    class Kit:
        @hookimpl
        def hermes_register_tools(self) -> list[Tool]:
            return [a_tool("saw", available=hangs), a_tool("axe", available=Probe("no axe here"))]

    with ScriptedServer([replies.say("hello")]) as server:
        async with hermes(
            plugins={("hermes.tools", "kit"): Kit()}, server=server, toolsets=("kit", "todo")
        ) as host:
            session = await host.session()
            release.set()
            told = sorted(one.text for one in host.runtime.host.problems)
    assert [one.name for one in session.tools] == ["todo"]
    assert told == [
        "tool axe is off: no axe here",
        "tool saw is off: its check took longer than 0.05 s",
    ]
