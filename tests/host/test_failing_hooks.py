"""What a hook that fails does to the turn: nothing, or what its family's name says."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from hermes_core import dispatch
from hermes_plugins import Allow, CallView, Message, ModelRequest, TurnEnded, hookimpl
from hermes_plugins.testing import FakeApprover, ScriptedServer, replies

NAIL = [replies.call("hammer", {"target": "nail"}), replies.say("done")]


def lifecycle(plugin: object, name: str = "p") -> dict[tuple[str, str], object]:
    return {("hermes.lifecycle", name): plugin}


def problems(host: object) -> list[str]:
    return [f"{one.plugin}: {one.text}" for one in host.runtime.host.problems]  # type: ignore[attr-defined]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for family in dispatch.DEADLINES:
        monkeypatch.setitem(dispatch.DEADLINES, family, 0.05)


class Misdeed:
    """Ways in which a plugin's function goes wrong; ``forever`` and ``stuck`` need ``impatient``."""

    def __init__(self) -> None:
        self.release = threading.Event()

    def plain(self, how: str) -> object:
        if how == "raises":
            raise ValueError("first line\nsecond line")
        if how == "exits":
            raise SystemExit(3)
        if how == "interrupts":
            raise asyncio.CancelledError
        if how == "stuck":
            self.release.wait(20)
        return 42  # nonsense

    async def awaited(self, how: str) -> object:
        if how == "forever":
            await asyncio.Event().wait()
        if how == "stubborn":
            while not self.release.is_set():
                try:
                    await asyncio.sleep(0.01)
                except asyncio.CancelledError:
                    pass
        return self.plain(how)


@pytest.fixture
def misdeed():
    misdeed = Misdeed()
    yield misdeed
    misdeed.release.set()


PLAIN = ["raises", "exits", "interrupts", "stuck", "nonsense"]
AWAITED = ["raises", "exits", "interrupts", "forever", "stubborn", "nonsense"]
WAYS = [*((how, False) for how in PLAIN), *((how, True) for how in AWAITED)]
TOLD = {
    "raises": "raised ValueError: first line …",
    "exits": "raised SystemExit: 3",
    "interrupts": "CancelledError",
    "stuck": "took longer than 0.05 s, so its hooks are off until the next start",
    "forever": "took longer than 0.05 s, so its hooks are off until the next start",
    "stubborn": "took longer than 0.05 s, so its hooks are off until the next start",
}


# -- transform: reported, the value unchanged ------------------------------------------


@pytest.mark.parametrize(("how", "is_async"), WAYS)
async def test_a_failing_transform_is_reported_and_the_value_passes_unchanged(
    hermes, impatient, misdeed, how: str, is_async: bool
) -> None:
    class Awaited:
        @hookimpl
        async def hermes_transform_turn(self, added: object) -> object:
            return await misdeed.awaited(how)

    class Plain:
        @hookimpl
        def hermes_transform_turn(self, added: object) -> object:
            return misdeed.plain(how)

    class After:
        @hookimpl
        async def hermes_transform_turn(self, added: tuple[str, ...]) -> tuple[str, ...]:
            return (*added, "after")

    plugins = {**lifecycle(Awaited() if is_async else Plain()), **lifecycle(After(), "q")}
    with ScriptedServer([replies.say("hello")]) as server:
        async with hermes(plugins=plugins, server=server) as host:
            asked = await host.ask("hi")
            history = (await host.session()).history
            misdeed.release.set()
    assert asked.text == "hello"
    assert history[0].added == ("after",)
    (told,) = problems(host)
    assert told.startswith("p: hermes_transform_turn ")
    assert TOLD.get(how, "returned int, not a list of str") in told


@pytest.mark.parametrize(
    ("hook", "argument", "answer", "told"),
    [
        ("turn", "added", None, "returned nothing; return the value, changed or not"),
        ("turn", "added", "text", "returned str, not a list of str"),
        ("turn", "added", ["a", 1], "returned a list of int and str, not a list of str"),
        ("tool_call", "arguments", {"target": object()}, "returned a dict that cannot be kept"),
        ("tool_call", "arguments", [], "returned a list of nothing, not dict"),
        ("tool_result", "text", b"x", "returned bytes, not str"),
        ("model_request", "request", {"model": "m"}, "returned dict, not ModelRequest"),
        ("model_response", "response", "hello", "returned str, not Message"),
        (
            "model_response",
            "response",
            Message(role="assistant", parts=("not a part",)),  # type: ignore[arg-type]
            "returned a Message that cannot be kept",
        ),
    ],
)
async def test_a_transform_that_returns_something_else_is_told_what_it_should_be(
    hermes, workshop, hook: str, argument: str, answer: object, told: str
) -> None:
    space: dict[str, object] = {"answer": answer}
    exec(f"async def hermes_transform_{hook}({argument}):\n    return answer\n", space)
    namespace = {
        f"hermes_transform_{hook}": staticmethod(hookimpl(space[f"hermes_transform_{hook}"]))
    }
    plugin = type("Plugin", (), namespace)()
    with ScriptedServer(NAIL) as server:
        async with hermes(
            plugins={**workshop, **lifecycle(plugin)},
            server=server,
            approver=FakeApprover("once"),
            toolsets=("workshop",),
        ) as host:
            asked = await host.ask("go")
            history = (await host.session()).history
    assert asked.text == "done"
    assert history[2].text == "hit nail"
    assert f"p: hermes_transform_{hook} {told}" in problems(host)[0]


async def test_a_transform_that_hangs_once_is_not_asked_again(hermes, impatient, misdeed) -> None:
    calls: list[str] = []

    class Plugin:
        @hookimpl
        def hermes_transform_turn(self, added: object) -> object:
            calls.append("turn")
            return misdeed.plain("stuck")

        @hookimpl
        async def hermes_on_turn_end(self) -> None:
            calls.append("end")

    with ScriptedServer([replies.say("a"), replies.say("b")]) as server:
        async with hermes(plugins=lifecycle(Plugin()), server=server) as host:
            await host.ask("one")
            misdeed.release.set()
            await host.ask("two")
    assert calls == ["turn"]


# -- before: counts as Deny ------------------------------------------------------------


@pytest.mark.parametrize(("how", "is_async"), WAYS)
async def test_a_policy_that_fails_denies(
    hermes, impatient, misdeed, workshop, how: str, is_async: bool
) -> None:
    class Awaited:
        @hookimpl
        async def hermes_before_tool_call(self, call: CallView) -> object:
            return await misdeed.awaited(how)

    class Plain:
        @hookimpl
        def hermes_before_tool_call(self, call: CallView) -> object:
            return misdeed.plain(how)

    person = FakeApprover("always", "always")
    plugins = {**workshop, ("hermes.policies", "judge"): Awaited() if is_async else Plain()}
    with ScriptedServer(NAIL) as server:
        async with hermes(
            plugins=plugins, server=server, approver=person, toolsets=("workshop",)
        ) as host:
            asked = await host.ask("go")
            result = (await host.session()).history[2]
            misdeed.release.set()
    assert asked.text == "done"
    assert result.status == "blocked"
    assert "the policy judge" in result.text
    assert person.seen == []
    (problem,) = host.runtime.host.problems
    assert problem.text.startswith("hermes_before_tool_call ")
    assert TOLD.get(how, "returned int; return Allow(), Ask(…), Deny(…) or nothing") in problem.text
    assert "hermes plugins disable judge" in problem.hint


async def test_a_policy_that_hangs_once_keeps_denying_at_once(
    hermes, impatient, misdeed, workshop
) -> None:
    class Policy:
        calls = 0

        @hookimpl
        def hermes_before_tool_call(self, call: CallView) -> Allow:
            self.calls += 1
            misdeed.plain("stuck")
            return Allow()

    policy = Policy()
    with ScriptedServer([*NAIL, *NAIL]) as server:
        async with hermes(
            plugins={**workshop, ("hermes.policies", "judge"): policy},
            server=server,
            approver=FakeApprover("always", "always"),
            toolsets=("workshop",),
        ) as host:
            await host.ask("go")
            misdeed.release.set()  # it would answer now, but it is off
            await host.ask("again")
            history = (await host.session()).history
    assert [history[2].status, history[6].status] == ["blocked", "blocked"]
    assert "is off because it took too long" in history[6].text
    assert policy.calls == 1


async def test_a_policy_whose_watching_hook_hangs_denies_too(
    hermes, impatient, misdeed, workshop
) -> None:
    class Policy:
        @hookimpl
        def hermes_on_turn_start(self) -> None:
            misdeed.plain("stuck")

        @hookimpl
        async def hermes_before_tool_call(self, call: CallView) -> Allow:
            return Allow()

    with ScriptedServer([replies.say("hello"), *NAIL]) as server:
        async with hermes(
            plugins={**workshop, ("hermes.policies", "judge"): Policy()},
            server=server,
            approver=FakeApprover("always", "always"),
            toolsets=("workshop",),
        ) as host:
            await host.ask("hi")
            await host.runtime.host.dispatch.drain(5)
            await host.ask("go")
            result = (await host.session()).history[4]
    assert result.status == "blocked"
    assert "is off because it took too long" in result.text


# -- on: reported, off if it keeps failing, and never waited for -------------------------


@pytest.mark.parametrize(("how", "is_async"), [way for way in WAYS if way[0] != "nonsense"])
async def test_a_watcher_that_fails_is_reported_and_the_turn_goes_on(
    hermes, impatient, misdeed, caplog, how: str, is_async: bool
) -> None:
    class Awaited:
        @hookimpl
        async def hermes_on_turn_start(self) -> object:
            return await misdeed.awaited(how)

    class Plain:
        @hookimpl
        def hermes_on_turn_start(self) -> object:
            return misdeed.plain(how)

    with ScriptedServer([replies.say("hello")]) as server:
        async with hermes(
            plugins=lifecycle(Awaited() if is_async else Plain()), server=server
        ) as host:
            logging.getLogger("hermes").propagate = True
            asked = await host.ask("hi")
            await host.runtime.host.dispatch.drain(5)
            misdeed.release.set()
    assert asked.text == "hello"
    (told,) = problems(host)
    assert told.startswith("p: hermes_on_turn_start ")
    assert TOLD[how] in told
    assert "plugin p: hermes_on_turn_start" in caplog.text


async def test_a_watcher_that_keeps_failing_is_switched_off_alone(hermes) -> None:
    calls: list[str] = []

    class Plugin:
        @hookimpl
        async def hermes_on_turn_start(self, message: Message) -> None:
            calls.append("start")
            raise ValueError("no")

        @hookimpl
        async def hermes_on_turn_end(self) -> None:
            calls.append("end")

    turns = dispatch.MAX_FAILURES + 2
    with ScriptedServer([], then=replies.say("hello")) as server:
        async with hermes(plugins=lifecycle(Plugin()), server=server) as host:
            for _ in range(turns):
                await host.ask("hi")
                await host.runtime.host.dispatch.drain(5)
    assert calls.count("start") == dispatch.MAX_FAILURES
    assert calls.count("end") == turns
    assert "p: hermes_on_turn_start keeps failing and is off until the next start" in problems(host)


async def test_a_failure_now_and_then_switches_nothing_off(hermes) -> None:
    class Plugin:
        calls = 0

        @hookimpl
        async def hermes_on_turn_start(self) -> None:
            self.calls += 1
            if self.calls % dispatch.MAX_FAILURES:
                raise ValueError("no")

    plugin = Plugin()
    turns = 2 * dispatch.MAX_FAILURES + 1
    with ScriptedServer([], then=replies.say("hello")) as server:
        async with hermes(plugins=lifecycle(plugin), server=server) as host:
            for _ in range(turns):
                await host.ask("hi")
                await host.runtime.host.dispatch.drain(5)
    assert plugin.calls == turns


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_watcher_that_is_busy_does_not_keep_the_turn_from_ending(
    hermes, misdeed, is_async: bool
) -> None:
    ended: list[str] = []

    class Plain:
        @hookimpl
        def hermes_on_turn_start(self) -> None:
            misdeed.release.wait(20)

        @hookimpl
        def hermes_on_turn_end(self, end: TurnEnded) -> None:
            ended.append(end.outcome)

    class Awaited:
        @hookimpl
        async def hermes_on_turn_start(self) -> None:
            while not misdeed.release.is_set():
                await asyncio.sleep(0.001)

        @hookimpl
        async def hermes_on_turn_end(self, end: TurnEnded) -> None:
            ended.append(end.outcome)

    with ScriptedServer([replies.say("hello")]) as server:
        async with hermes(
            plugins=lifecycle(Awaited() if is_async else Plain()), server=server
        ) as host:
            asked = await host.ask("hi")
            assert (asked.text, ended) == ("hello", [])  # it still blocks; the turn is over
            misdeed.release.set()
    assert ended == ["completed"]  # and what it had to hear, it heard


async def test_calls_beyond_the_queue_are_left_out_and_reported(
    hermes, misdeed, monkeypatch
) -> None:
    monkeypatch.setattr(dispatch, "WATCH_QUEUE", 3)
    seen: list[int] = []

    class Plugin:
        @hookimpl
        def hermes_on_error(self, where: str) -> None:
            seen.append(int(where))
            misdeed.release.wait(20)

    async with hermes(plugins=lifecycle(Plugin())) as host:
        await host.runtime.start()
        for number in range(10):
            host.runtime.host.dispatch.emit(
                "hermes_on_error", where=str(number), error=ValueError()
            )
        misdeed.release.set()
    assert seen == [0, 1, 2]
    assert problems(host) == ["p: hermes_on_error is too slow, so calls of it are left out"]


async def test_a_hook_about_errors_that_fails_does_not_call_itself(hermes) -> None:
    calls: list[str] = []

    class Plugin:
        @hookimpl
        async def hermes_transform_turn(self, added: object) -> object:
            raise ValueError("one")

        @hookimpl
        async def hermes_on_error(self, where: str) -> None:
            calls.append(where)
            raise ValueError("two")

    with ScriptedServer([replies.say("hello")]) as server:
        async with hermes(plugins=lifecycle(Plugin()), server=server) as host:
            await host.ask("hi")
    assert calls == ["plugin p: hermes_transform_turn"]


async def test_a_plugin_that_fails_endlessly_fills_neither_list_nor_screen(hermes) -> None:
    class Plugin:
        calls = 0

        @hookimpl
        async def hermes_transform_model_request(self, request: ModelRequest) -> None:
            self.calls += 1
            raise ValueError(f"failure number {self.calls}")

    with ScriptedServer([], then=replies.say("hello")) as server:
        async with hermes(plugins=lifecycle(Plugin()), server=server) as host:
            for _ in range(60):
                await host.ask("hi")
    assert len(problems(host)) == 50


async def test_a_host_whose_watchers_hang_still_closes(hermes, impatient, misdeed) -> None:
    class Plugin:
        @hookimpl
        def hermes_on_stop(self) -> None:
            misdeed.plain("stuck")

    async with hermes(plugins=lifecycle(Plugin())) as host:
        await host.runtime.start()
    assert problems(host) == [f"p: hermes_on_stop {TOLD['stuck']}"]
