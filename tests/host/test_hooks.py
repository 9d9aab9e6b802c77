"""Every hook, called through a real turn: when, in which order, and with what."""

from __future__ import annotations

import ast
import asyncio
import re
from pathlib import Path

import pytest

from hermes_core import hookspecs
from hermes_core.cli.inspection import RuntimeInspection
from hermes_plugins import (
    Ask,
    CallView,
    ConfigSection,
    Decision,
    Deny,
    DoctorCheck,
    Event,
    FaceSpec,
    Fetches,
    Finding,
    Host,
    Message,
    ModelRequest,
    PlatformSpec,
    PromptSection,
    ProviderError,
    ProviderProfile,
    ResultView,
    Retrying,
    Section,
    SessionInfo,
    SetupQuestion,
    SetupSection,
    SlashCommand,
    SlashContext,
    TextDelta,
    Tool,
    ToolStarted,
    TurnEnded,
    Usage,
    hookimpl,
    tool,
    user_message,
)
from hermes_plugins.testing import (
    FakeApprover,
    FakePlatform,
    ScriptedServer,
    TestHost,
    VirtualClock,
    replies,
)

HOOKS = [name for name in vars(hookspecs) if name.startswith("hermes_")]
WATCHED = [name for name in HOOKS if name in hookspecs.HONOURED["hermes.lifecycle"]]
FIRST_ANSWER = [
    replies.call("hammer", {"target": "nail"}),
    replies.say("done"),
]


def lifecycle(plugin: object) -> dict[tuple[str, str], object]:
    return {("hermes.lifecycle", "p"): plugin}


async def ask_patiently(host: TestHost, clock: VirtualClock, text: str) -> TurnEnded:
    """One turn; the pauses between attempts pass at once."""
    session = await host.session()
    async with session.run(text) as run:
        async for event in run:
            if isinstance(event, Retrying):
                await clock.advance(event.delay)
    assert run.end is not None
    return run.end


# -- the map: the specification's order is the order in which they fire ----------------


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
async def test_a_turn_with_a_tool_call_fires_the_hooks_in_the_order_of_their_specification(
    hermes, log, workshop, plain: bool
) -> None:
    watched = [hook for hook in WATCHED if not hook.startswith("hermes_register_")]
    plugins = {
        **workshop,
        **lifecycle(log.plugin(*watched, plain=plain)),
        ("hermes.policies", "judge"): log.plugin("hermes_before_tool_call", plain=plain),
    }
    script = [
        replies.fail(500),
        replies.call("hammer", {"target": "nail"}),
        replies.say("done"),
    ]
    clock = VirtualClock()
    with ScriptedServer(script) as server:
        async with hermes(
            plugins=plugins,
            server=server,
            clock=clock,
            approver=FakeApprover("once"),
            toolsets=("workshop",),
        ) as host:
            end = await ask_patiently(host, clock, "hang the picture")
    assert end.text == "done"
    assert {*log.names} == {*watched, "hermes_before_tool_call"} - {"hermes_on_error"}
    # What one plugin hears is in order; a second plugin's judgement stands where it was asked.
    first = [name for position, name in enumerate(log.names) if name not in log.names[:position]]
    expected = [hook for hook in HOOKS if hook in first]
    assert sorted(first, key=expected.index) == expected
    judged = log.names.index("hermes_before_tool_call")
    assert "hermes_transform_tool_call" in log.names[:judged]
    assert "hermes_transform_tool_result" in log.names[judged:]
    assert [name for name in first if "_on_" in name] == [h for h in expected if "_on_" in h]
    assert [name for name in first if "_on_" not in name] == [
        h for h in expected if "_on_" not in h
    ]


async def test_every_argument_is_there_and_of_the_type_that_the_specification_says(
    hermes, log, workshop
) -> None:
    watched = [hook for hook in WATCHED if not hook.startswith("hermes_register_")]
    script = [replies.fail(500), replies.call("hammer", {"target": "thumb"}), replies.say("ow")]
    clock = VirtualClock()
    with ScriptedServer(script) as server:
        async with hermes(
            plugins={**workshop, **lifecycle(log.plugin(*watched))},
            server=server,
            clock=clock,
            approver=FakeApprover("once"),
            toolsets=("workshop",),
        ) as host:
            await ask_patiently(host, clock, "hang the picture")
            handle = host.runtime.handle("p")
    assert {*log.names} == {*watched}
    kinds = {
        "host": type(handle),
        "session": SessionInfo,
        "message": Message,
        "request": ModelRequest,
        "response": Message,
        "usage": Usage,
        "call": CallView,
        "result": ResultView,
        "end": TurnEnded,
        "arguments": dict,
        "added": tuple,
        "events": tuple,
        "resumed": bool,
        "attempt": int,
        "tool": str,
        "turn": str,
        "text": str,
        "answer": str,
        "by": str,
        "where": str,
        "error": BaseException,
    }
    for hook, given in log.calls:
        for name, value in given.items():
            assert isinstance(value, kinds[name]), (hook, name)
            if name == "host":
                assert value is handle


async def test_an_implementation_is_given_only_what_it_names_by_position_or_keyword(
    hermes, log
) -> None:
    seen: list[object] = []

    class Few:
        @hookimpl
        async def hermes_on_turn_start(self, turn: str) -> None:
            seen.append(turn)

        @hookimpl
        def hermes_on_turn_end(self, *, session: SessionInfo, host: Host) -> None:
            seen.append((host.plugin, session.id))

        @hookimpl
        async def hermes_on_model_response(self, response: Message, note: str = "own") -> None:
            seen.append((response.text, note))

        @staticmethod
        @hookimpl
        async def hermes_on_session_start() -> None:
            seen.append("nothing")

    with ScriptedServer([replies.say("hello")]) as server:
        async with hermes(plugins=lifecycle(Few()), server=server) as host:
            asked = await host.ask("hi")
            session = (await host.session()).info.id
    assert seen == ["nothing", asked.end.turn, ("hello", "own"), ("p", session)]


async def test_what_is_awaitable_is_awaited_although_the_function_is_plain(hermes) -> None:
    seen: list[str] = []

    class Wrapped:
        @hookimpl
        def hermes_on_turn_end(self, end: TurnEnded) -> object:
            async def later() -> None:
                seen.append(end.outcome)

            return later()

    with ScriptedServer([replies.say("hello")]) as server:
        async with hermes(plugins=lifecycle(Wrapped()), server=server) as host:
            await host.ask("hi")
    assert seen == ["completed"]


async def test_plugins_are_called_in_the_order_of_plugins_enabled_then_by_name(hermes) -> None:
    def adds(word: str) -> object:
        class Adds:
            @hookimpl
            async def hermes_transform_turn(self, added: tuple[str, ...]) -> list[str]:
                return [*added, word]

        return Adds()

    plugins = {("hermes.lifecycle", name): adds(name) for name in ("d", "b", "c", "a")}
    with ScriptedServer([replies.say("hello")]) as server:
        async with hermes(
            plugins=plugins, server=server, settings={"plugins.enabled": ["c", "b"]}
        ) as host:
            await host.ask("hi")
            history = (await host.session()).history
    assert history[0].added == ("c", "b", "a", "d")


# -- one by one ------------------------------------------------------------------------


async def test_hermes_register_config_names_the_section_that_the_handle_then_gives(hermes) -> None:
    class Mine(Section, frozen=True, kw_only=True):
        word: str = "none"

    class Plugin:
        @hookimpl
        def hermes_register_config(self) -> list[ConfigSection]:
            return [ConfigSection(name="p", schema=Mine)]

    async with hermes(plugins=lifecycle(Plugin()), settings={"plugins.p.word": "hi"}) as host:
        await host.runtime.start()
        assert host.runtime.host.loaded["p"].config[0].schema is Mine
        assert host.runtime.handle("p").section(Mine).word == "hi"


async def test_hermes_register_tools_gives_the_model_a_tool(hermes, workshop) -> None:
    with ScriptedServer([replies.say("hello")]) as server:
        async with hermes(plugins=workshop, server=server, toolsets=("workshop",)) as host:
            await host.ask("hi")
        sent = server.requests[0].json["tools"]
    assert [one["function"]["name"] for one in sent] == ["hammer"]


async def test_hermes_register_providers_makes_a_provider_that_answers(hermes) -> None:
    with ScriptedServer([replies.say("from afar")]) as server:

        class Plugin:
            @hookimpl
            def hermes_register_providers(self) -> list[ProviderProfile]:
                return [
                    ProviderProfile(
                        id="afar",
                        dialect="chat_completions",
                        base_url=server.url,
                        key_required=False,
                        default_model="scripted",
                    )
                ]

        async with hermes(
            plugins={("hermes.providers", "afar"): Plugin()}, provider="afar"
        ) as host:
            assert (await host.ask("hi")).text == "from afar"


@pytest.mark.parametrize("kind", [PlatformSpec, FaceSpec])
async def test_hermes_register_platforms_offers_what_its_entry_point_names(hermes, kind) -> None:
    class Plugin:
        @hookimpl
        def hermes_register_platforms(self) -> list[PlatformSpec | FaceSpec]:
            return [kind(id="pigeon", make=lambda host: FakePlatform())]

    plugins = {("hermes.platforms", "pigeon"): Plugin(), ("hermes.platforms", "dove"): Plugin()}
    async with hermes(plugins=plugins) as host:
        (loaded,) = await host.runtime.host.load("hermes.platforms", ["pigeon"])
        assert [spec.id for spec in loaded.platforms] == ["pigeon"]
        assert await host.runtime.host.load("hermes.platforms", ["dove"]) == []
        assert any("names its platform 'pigeon'" in line for line in host.problems)


async def test_hermes_register_prompt_sections_adds_to_the_system_prompt(hermes) -> None:
    class Plugin:
        @hookimpl
        def hermes_register_prompt_sections(self) -> list[PromptSection]:
            return [
                PromptSection(
                    id="manners",
                    tier="stable",
                    render=lambda context: f"Be kind on {context.face}.",
                )
            ]

    with ScriptedServer([replies.say("hello")]) as server:
        async with hermes(plugins=lifecycle(Plugin()), server=server) as host:
            await host.ask("hi")
        assert "Be kind on cli." in str(server.requests[0].messages[0])


async def test_hermes_register_slash_commands_adds_a_command_to_every_face(hermes) -> None:
    async def greet(context: SlashContext, argument: str) -> str:
        return f"Hello {argument}, from {context.session.model}."

    class Plugin:
        @hookimpl
        def hermes_register_slash_commands(self) -> list[SlashCommand]:
            return [SlashCommand(name="greet", help="Greet.", run=greet)]

    with ScriptedServer([]) as server:
        async with hermes(plugins=lifecycle(Plugin()), server=server) as host:
            said = await (await host.prompt()).type("/greet Ada")
    assert said == "Hello Ada, from custom/scripted."


async def test_hermes_register_setup_gives_sections_to_the_catalogue(hermes) -> None:
    class Plugin:
        @hookimpl
        def hermes_register_setup(self) -> list[SetupSection]:
            question = SetupQuestion(key="agent.name", text="Its name")
            return [SetupSection(part="agent", title="P", questions=(question,))]

    async with hermes(plugins=lifecycle(Plugin())) as host:
        catalog = (await host.prompt()).face.catalog
        titles = [section.title for section in await catalog.setup()]
    assert titles.index("P") < titles.index("Terminal")  # in the rank of their plugins


async def test_hermes_register_doctor_names_checks_that_run_with_the_plugins_handle(hermes) -> None:
    async def look(host: Host) -> list[Finding]:
        return [Finding(level="ok", text=f"{host.plugin} is well")]

    class Plugin:
        @hookimpl
        def hermes_register_doctor(self) -> list[DoctorCheck]:
            return [DoctorCheck(id="p.health", title="Health", run=look)]

    async with hermes(plugins=lifecycle(Plugin())) as host:
        inspection = RuntimeInspection(host.runtime, "doctor")
        ((plugin, check),) = [one for one in await inspection.checks() if one[0] == "p"]
        assert (plugin, check.title) == ("p", "Health")
        assert await inspection.run(plugin, check) == [Finding(level="ok", text="p is well")]


async def test_hermes_on_start_comes_once_before_the_first_session(hermes, log) -> None:
    plugin = log.plugin("hermes_on_start", "hermes_on_session_start")
    with ScriptedServer([]) as server:
        async with hermes(plugins=lifecycle(plugin), server=server) as host:
            await host.session()
            await host.runtime.start()
    assert log.names == ["hermes_on_start", "hermes_on_session_start"]


async def test_hermes_on_session_start_says_whether_the_session_is_resumed(hermes, log) -> None:
    plugin = log.plugin("hermes_on_session_start")
    with ScriptedServer([replies.say("hello")]) as server:
        async with hermes(plugins=lifecycle(plugin), server=server) as host:
            await host.ask("hi")
            first = (await host.session()).info.id
        async with hermes(plugins=lifecycle(plugin), server=server, latest=True) as host:
            await host.session()
    told = [(given["session"].id, given["resumed"]) for given in log.of("hermes_on_session_start")]
    assert told == [(first, False), (first, True)]


async def test_hermes_transform_turn_adds_what_the_model_reads_and_the_person_does_not(
    hermes,
) -> None:
    class Plugin:
        @hookimpl
        async def hermes_transform_turn(
            self, added: tuple[str, ...], message: Message, session: SessionInfo
        ) -> tuple[str, ...]:
            return (*added, f"{message.text} in {session.face}")

    with ScriptedServer([replies.say("a"), replies.say("b")]) as server:
        async with hermes(plugins=lifecycle(Plugin()), server=server) as host:
            await host.ask(user_message("one"))
            await host.ask("two")
            history = (await host.session()).history
        assert [message.text for message in history] == ["one", "a", "two", "b"]
        assert history[0].added == ("one in cli",)
        sent = [str(request.messages) for request in server.requests]
    assert "one in cli" in sent[0]
    assert "one in cli" in sent[1]
    assert "two in cli" in sent[1]


async def test_hermes_on_turn_start_gives_the_message_and_the_id_of_the_turn(hermes, log) -> None:
    plugin = log.plugin("hermes_on_turn_start")
    with ScriptedServer([replies.say("hello")]) as server:
        async with hermes(plugins=lifecycle(plugin), server=server) as host:
            asked = await host.ask("hi")
    (given,) = log.of("hermes_on_turn_start")
    assert given["message"].text == "hi"
    assert given["turn"] == asked.end.turn
    assert given["session"].id == asked.end.session


async def test_hermes_transform_model_request_changes_what_is_sent(hermes) -> None:
    class Plugin:
        @hookimpl
        async def hermes_transform_model_request(self, request: ModelRequest) -> ModelRequest:
            import msgspec

            return msgspec.structs.replace(request, extras={"temperature": 0.25})

    with ScriptedServer([replies.say("hello")]) as server:
        async with hermes(plugins=lifecycle(Plugin()), server=server) as host:
            await host.ask("hi")
        assert server.requests[0].json["temperature"] == 0.25


async def test_hermes_on_model_request_is_told_per_attempt_as_it_was_sent(hermes, log) -> None:
    plugin = log.plugin("hermes_on_model_request")
    clock = VirtualClock()
    with ScriptedServer([replies.fail(500), replies.say("hello")]) as server:
        async with hermes(plugins=lifecycle(plugin), server=server, clock=clock) as host:
            await ask_patiently(host, clock, "hi")
    given = log.of("hermes_on_model_request")
    assert [[one.text for one in each["request"].messages] for each in given] == [["hi"], ["hi"]]


async def test_hermes_on_model_error_is_told_with_the_classifiers_reason(hermes, log) -> None:
    plugin = log.plugin("hermes_on_model_error")
    with ScriptedServer([replies.fail(401, "no such key")]) as server:
        async with hermes(plugins=lifecycle(plugin), server=server) as host:
            await host.ask("hi")
    (given,) = log.of("hermes_on_model_error")
    error = given["error"]
    assert isinstance(error, ProviderError)
    assert (error.status, error.reason, given["attempt"]) == (401, "auth", 1)


async def test_hermes_transform_model_response_changes_what_is_shown_and_stored(hermes) -> None:
    class Plugin:
        @hookimpl
        async def hermes_transform_model_response(self, response: Message) -> Message:
            from hermes_plugins import assistant_message

            return assistant_message(response.text.upper())

    with ScriptedServer([replies.say("hello", split=1)]) as server:
        async with hermes(plugins=lifecycle(Plugin()), server=server) as host:
            asked = await host.ask("hi")
            history = (await host.session()).history
    shown = [event.text for event in asked.events if type(event).__name__ == "TextDelta"]
    assert (asked.text, history[-1].text, shown) == ("HELLO", "HELLO", ["HELLO"])


async def test_hermes_on_model_response_gives_the_stored_answer_and_its_usage(hermes, log) -> None:
    plugin = log.plugin("hermes_on_model_response")
    with ScriptedServer([replies.say("hello")]) as server:
        async with hermes(plugins=lifecycle(plugin), server=server) as host:
            await host.ask("hi")
    (given,) = log.of("hermes_on_model_response")
    assert given["response"].text == "hello"
    assert (given["usage"].input, given["usage"].output) == (10, 5)


async def test_hermes_transform_tool_call_changes_what_is_judged_and_run(
    hermes, log, workshop
) -> None:
    class Plugin:
        @hookimpl
        async def hermes_transform_tool_call(
            self, arguments: dict[str, object], tool: str
        ) -> dict[str, object]:
            return {"target": f"{arguments['target']} of {tool}"}

    judge = log.plugin("hermes_before_tool_call")
    plugins = {**workshop, **lifecycle(Plugin()), ("hermes.policies", "judge"): judge}
    with ScriptedServer(FIRST_ANSWER) as server:
        async with hermes(
            plugins=plugins, server=server, approver=FakeApprover("once"), toolsets=("workshop",)
        ) as host:
            await host.ask("go")
            history = (await host.session()).history
    (given,) = log.of("hermes_before_tool_call")
    assert given["call"].effects.runs == ("nail of hammer",)
    assert history[2].text == "hit nail of hammer"


@pytest.mark.parametrize(
    ("decision", "status"),
    [(None, "ok"), (Ask("sure?"), "blocked"), (Deny("not today"), "blocked")],
)
async def test_hermes_before_tool_call_decides_whether_the_tool_runs(
    hermes, workshop, decision: Decision | None, status: str
) -> None:
    class Policy:
        @hookimpl
        async def hermes_before_tool_call(self, call: CallView) -> Decision | None:
            return decision

    class Tame:
        @hookimpl
        def hermes_register_tools(self) -> list[Tool]:
            @tool(toolset="workshop", effects=[Fetches(host="example.org")])
            async def hammer(target: str) -> str:
                """Hit something."""
                return f"hit {target}"

            return [hammer]

    plugins = {("hermes.tools", "workshop"): Tame(), ("hermes.policies", "judge"): Policy()}
    with ScriptedServer(FIRST_ANSWER) as server:
        async with hermes(plugins=plugins, server=server, toolsets=("workshop",)) as host:
            await host.ask("go")
            result = (await host.session()).history[2]
    assert result.status == status
    if isinstance(decision, Deny):
        assert "not today" in result.text


async def test_the_strictest_of_several_policies_wins(hermes, workshop) -> None:
    def says(answer: Decision) -> object:
        class Policy:
            @hookimpl
            async def hermes_before_tool_call(self, call: CallView) -> Decision:
                return answer

        return Policy()

    plugins = {
        **workshop,
        ("hermes.policies", "a"): says(Ask("sure?")),
        ("hermes.policies", "b"): says(Deny("b says no")),
        ("hermes.policies", "c"): says(Ask("really?")),
    }
    person = FakeApprover("always")
    with ScriptedServer(FIRST_ANSWER) as server:
        async with hermes(
            plugins=plugins, server=server, approver=person, toolsets=("workshop",)
        ) as host:
            await host.ask("go")
            result = (await host.session()).history[2]
    assert (result.status, person.seen) == ("blocked", [])
    assert "b says no" in result.text


@pytest.mark.parametrize(("answer", "heard"), [("once", "once"), ("deny", "deny")])
async def test_hermes_on_approval_tells_what_was_answered(
    hermes, log, workshop, answer: str, heard: str
) -> None:
    plugin = log.plugin("hermes_on_approval")
    with ScriptedServer(FIRST_ANSWER) as server:
        async with hermes(
            plugins={**workshop, **lifecycle(plugin)},
            server=server,
            approver=FakeApprover(answer),
            toolsets=("workshop",),
        ) as host:
            await host.ask("go")
    (given,) = log.of("hermes_on_approval")
    assert (given["call"].tool, given["answer"], given["by"]) == ("hammer", heard, "person")


async def test_hermes_on_tool_call_comes_only_for_calls_that_run(hermes, log, workshop) -> None:
    plugin = log.plugin("hermes_on_tool_call")
    script = [*FIRST_ANSWER, *FIRST_ANSWER]
    with ScriptedServer(script) as server:
        async with hermes(
            plugins={**workshop, **lifecycle(plugin)},
            server=server,
            approver=FakeApprover("once", "deny"),
            toolsets=("workshop",),
        ) as host:
            await host.ask("go")
            await host.ask("go")
    (given,) = log.of("hermes_on_tool_call")
    assert given["call"].arguments == {"target": "nail"}


async def test_hermes_transform_tool_result_changes_what_the_model_reads(hermes, workshop) -> None:
    class Plugin:
        @hookimpl
        async def hermes_transform_tool_result(self, text: str, call: CallView) -> str:
            return f"[{call.tool}] {text}"

    with ScriptedServer(FIRST_ANSWER) as server:
        async with hermes(
            plugins={**workshop, **lifecycle(Plugin())},
            server=server,
            approver=FakeApprover("once"),
            toolsets=("workshop",),
        ) as host:
            await host.ask("go")
        assert "[hammer] hit nail" in str(server.requests[1].messages[-1])


@pytest.mark.parametrize(
    ("target", "answer", "status", "raw"),
    [
        ("nail", "once", "ok", "hit nail"),
        ("thumb", "once", "failed", "ouch"),
        ("nail", "deny", "blocked", ""),
    ],
)
async def test_hermes_on_tool_result_comes_for_every_call_whatever_its_status(
    hermes, log, workshop, target: str, answer: str, status: str, raw: str
) -> None:
    plugin = log.plugin("hermes_on_tool_result")
    with ScriptedServer([replies.call("hammer", {"target": target}), replies.say("ok")]) as server:
        async with hermes(
            plugins={**workshop, **lifecycle(plugin)},
            server=server,
            approver=FakeApprover(answer),
            toolsets=("workshop",),
        ) as host:
            await host.ask("go")
            stored = (await host.session()).history[2]
    (given,) = log.of("hermes_on_tool_result")
    result = given["result"]
    assert (result.status, result.shown) == (status, stored.text)
    assert raw in result.raw


@pytest.mark.parametrize(
    ("script", "outcome"),
    [([replies.say("hello")], "completed"), ([replies.fail(401)], "failed")],
)
async def test_hermes_on_turn_end_comes_exactly_once_with_the_outcome(
    hermes, log, script: list[object], outcome: str
) -> None:
    plugin = log.plugin("hermes_on_turn_start", "hermes_on_turn_end")
    with ScriptedServer(script) as server:
        async with hermes(plugins=lifecycle(plugin), server=server) as host:
            await host.ask("hi")
    assert log.names == ["hermes_on_turn_start", "hermes_on_turn_end"]
    (given,) = log.of("hermes_on_turn_end")
    assert given["end"].outcome == outcome


@pytest.mark.parametrize("pieces", [3, 700])
async def test_hermes_on_events_gives_every_event_in_batches_the_last_at_the_end(
    hermes, log, pieces: int
) -> None:
    plugin = log.plugin("hermes_on_events")
    with ScriptedServer([replies.say("x" * pieces, split=1)]) as server:
        async with hermes(plugins=lifecycle(plugin), server=server) as host:
            asked = await host.ask("hi")
            await host.watched()
    batches = [given["events"] for given in log.of("hermes_on_events")]
    assert all(len(batch) == 256 for batch in batches[:-1])
    told = [event for batch in batches for event in batch]
    assert [event.seq for event in told] == list(range(1, len(told) + 1))
    assert told[-1] == asked.events[-1]
    assert sum(len(one.text) for one in told if isinstance(one, TextDelta)) == pieces


async def test_hermes_on_events_gives_each_plugin_a_copy_of_its_own(hermes, workshop) -> None:
    class Vandal:
        @hookimpl
        async def hermes_on_events(self, events: tuple[Event, ...]) -> None:
            for event in events:
                if isinstance(event, ToolStarted):
                    event.arguments["target"] = "window"

    with ScriptedServer(FIRST_ANSWER) as server:
        async with hermes(
            plugins={**workshop, **lifecycle(Vandal())},
            server=server,
            approver=FakeApprover("once"),
            toolsets=("workshop",),
        ) as host:
            asked = await host.ask("hi")
            await host.watched()
    (started,) = asked.of(ToolStarted)
    assert started.arguments == {"target": "nail"}


async def test_hermes_on_session_end_comes_when_the_session_is_closed(hermes, log) -> None:
    plugin = log.plugin("hermes_on_session_end")
    with ScriptedServer([]) as server:
        async with hermes(plugins=lifecycle(plugin), server=server) as host:
            session = await host.session()
            await asyncio.sleep(0)
            assert log.names == []
    (given,) = log.of("hermes_on_session_end")
    assert given["session"].id == session.info.id


async def test_hermes_on_error_tells_of_a_hook_a_tool_and_a_task_that_failed(
    hermes, log, workshop
) -> None:
    class Clumsy:
        @hookimpl
        async def hermes_on_start(self, host: Host) -> None:
            async def work() -> None:
                raise LookupError("lost")

            host.tasks.start("search", work())

        @hookimpl
        async def hermes_transform_turn(self, added: tuple[str, ...]) -> tuple[str, ...]:
            raise OSError("no clock")

    plugins = {
        **workshop,
        ("hermes.lifecycle", "clumsy"): Clumsy(),
        **lifecycle(log.plugin("hermes_on_error")),
    }
    with ScriptedServer([replies.call("hammer", {"target": "thumb"}), replies.say("ow")]) as server:
        async with hermes(
            plugins=plugins, server=server, approver=FakeApprover("once"), toolsets=("workshop",)
        ) as host:
            await host.ask("go")
    told = {given["where"]: type(given["error"]) for given in log.of("hermes_on_error")}
    assert told == {
        "plugin clumsy: task search": LookupError,
        "plugin clumsy: hermes_transform_turn": OSError,
        "tool hammer": ValueError,
    }


async def test_hermes_on_stop_is_waited_for(hermes, log) -> None:
    seen: list[str] = []

    class Plugin:
        @hookimpl
        async def hermes_on_stop(self, host: Host) -> None:
            await host.clock.sleep(0.01)
            seen.append("stopped")

    async with hermes(plugins=lifecycle(Plugin())) as host:
        await host.runtime.start()
        assert seen == []
    assert seen == ["stopped"]


# -- copies ----------------------------------------------------------------------------


async def test_what_one_plugin_changes_in_place_no_other_plugin_and_no_tool_sees(
    hermes, log, workshop
) -> None:
    class Vandal:
        @hookimpl
        async def hermes_before_tool_call(self, call: CallView) -> None:
            call.arguments["target"] = "everything"

        @hookimpl
        async def hermes_on_tool_call(self, call: CallView) -> None:
            call.arguments.clear()

        @hookimpl
        async def hermes_on_model_request(self, request: ModelRequest) -> None:
            assert isinstance(request.messages, tuple)

    class Mutator:
        @hookimpl
        async def hermes_transform_tool_call(self, arguments: dict[str, object]) -> object:
            arguments["target"] = "everything"
            raise ValueError("changed my mind")

    plugins = {
        **workshop,
        ("hermes.policies", "a-vandal"): Vandal(),
        ("hermes.policies", "b-judge"): log.plugin("hermes_before_tool_call"),
        **lifecycle(log.plugin("hermes_on_tool_call")),
        ("hermes.lifecycle", "mutator"): Mutator(),
    }
    with ScriptedServer(FIRST_ANSWER) as server:
        async with hermes(
            plugins=plugins, server=server, approver=FakeApprover("once"), toolsets=("workshop",)
        ) as host:
            await host.ask("go")
            history = (await host.session()).history
    assert [given["call"].arguments for _, given in log.calls] == [{"target": "nail"}] * 2
    assert history[2].text == "hit nail"


# -- about the specification -----------------------------------------------------------


def test_every_hook_has_a_test_that_is_named_for_it() -> None:
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    names = [
        node.name for node in tree.body if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef)
    ]
    without = [
        hook for hook in HOOKS if not any(name.startswith(f"test_{hook}_") for name in names)
    ]
    assert without == []


def test_every_hook_counts_in_some_group_and_every_group_names_real_hooks() -> None:
    honoured = frozenset[str]().union(*hookspecs.HONOURED.values())
    assert honoured == set(HOOKS)


def test_every_hook_is_used_by_a_built_in_plugin() -> None:
    root = Path(__file__).resolve().parents[2] / "plugins-builtin"
    sources = [path.read_text(encoding="utf-8") for path in root.glob("*/hermes_plugin_*/*.py")]
    unused = [hook for hook in HOOKS if not any(f"def {hook}(" in text for text in sources)]
    assert unused == []


def test_every_hook_has_a_section_whose_heading_is_its_exact_signature() -> None:
    reference = Path(__file__).resolve().parents[2] / "docs" / "reference" / "hooks.md"
    headings = re.findall(r"^### `(.+)`$", reference.read_text(encoding="utf-8"), re.MULTILINE)
    tree = ast.parse(Path(hookspecs.__file__).read_text(encoding="utf-8"))
    specified = [
        f"{node.name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}"
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.returns is not None
    ]
    assert headings == specified, "run scripts/generate_docs.py"
