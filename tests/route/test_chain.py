"""Key pools, fallbacks and what is left out, through whole turns against two scripted servers."""

from __future__ import annotations

import msgspec
import pytest

from hermes_plugins import (
    ImagePart,
    Message,
    NativePart,
    Notice,
    Pure,
    TextPart,
    TurnEnded,
    assistant_message,
    hookimpl,
    tool,
    user_message,
)
from hermes_plugins.testing import RealClock, ScriptedServer, replies
from hermes_plugins.testing._host import Asked, HostFactory

LEASE = 10.0
"""Seconds between renewals of a session's lease, which are no pause of the route."""


class HastyClock(RealClock):
    """Pauses take no time and are kept; ``ahead`` moves time on."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []
        self.ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead

    async def sleep(self, seconds: float) -> None:
        if seconds >= 0.5 and seconds != LEASE:
            self.slept.append(seconds)
            seconds = 0
        await super().sleep(seconds)


def two(first: ScriptedServer, second: ScriptedServer, **more: object) -> dict[str, object]:
    """Settings with two providers, the second to fall back to."""
    return {
        "providers.one.base_url": first.url,
        "providers.two.base_url": second.url,
        "model.name": "one/first",
        "model.fallback": ["two/second"],
        **more,
    }


def keys(server: ScriptedServer, *names: str, strategy: str = "fill_first") -> dict[str, object]:
    """Settings with one provider that has several keys."""
    listed = [{"id": name, "key": f"sk-test-{name}", "priority": n} for n, name in enumerate(names)]
    return {
        "providers.one.base_url": server.url,
        "model.name": "one/first",
        "credentials.one.keys": listed,
        "credentials.one.strategy": strategy,
    }


def used(server: ScriptedServer) -> list[str]:
    return [one.headers["authorization"].removeprefix("Bearer sk-test-") for one in server.requests]


def told(asked: Asked) -> list[str]:
    return [event.text for event in asked.of(Notice)]


async def test_what_the_first_cannot_do_the_second_does(hermes: HostFactory) -> None:
    with (
        ScriptedServer([replies.fail(404, "model not found")]) as first,
        ScriptedServer([replies.say("From the second.")]) as second,
    ):
        async with hermes(settings=two(first, second), clock=HastyClock()) as host:
            asked = await host.ask("go")
    assert asked.text == "From the second."
    assert asked.end.model == "two/second"
    assert [one.json["model"] for one in second.requests] == ["second"]
    (notice,) = told(asked)
    assert "model not found" in notice
    assert notice.endswith("Going on with two/second.")


async def test_a_failure_that_may_pass_is_retried_before_anybody_stands_in(
    hermes: HostFactory,
) -> None:
    clock = HastyClock()
    with (
        ScriptedServer(then=replies.fail(503, "overloaded")) as first,
        ScriptedServer([replies.say("Here.")]) as second,
    ):
        async with hermes(settings=two(first, second), clock=clock) as host:
            asked = await host.ask("go")
    assert (asked.text, len(first.requests), len(clock.slept)) == ("Here.", 3, 2)


async def test_nobody_waits_long_while_another_model_could_answer(hermes: HostFactory) -> None:
    clock = HastyClock()
    busy = replies.fail(429, "slow down", headers={"retry-after": "60"})
    with (
        ScriptedServer([busy, replies.say("Back.")]) as first,
        ScriptedServer([replies.say("Here."), replies.say("Still here.")]) as second,
    ):
        async with hermes(settings=two(first, second), clock=clock) as host:
            assert (await host.ask("go")).text == "Here."
            assert (await host.ask("on")).text == "Still here."  # the first one rests
            clock.ahead += 61
            assert (await host.ask("and")).text == "Back."
    assert clock.slept == []


async def test_when_all_fail_the_person_is_told_who(hermes: HostFactory) -> None:
    with (
        ScriptedServer(then=replies.fail(402, "no credit")) as first,
        ScriptedServer(then=replies.fail(401, "bad key")) as second,
    ):
        async with hermes(settings=two(first, second), clock=HastyClock()) as host:
            asked = await host.ask("go")
    assert asked.end.outcome == "failed"
    assert "bad key" in asked.end.reason
    assert "All of one/first, two/second failed." in asked.end.reason
    assert asked.end.hint


async def test_a_fallback_that_cannot_be_used_is_told_and_passed_over(hermes: HostFactory) -> None:
    with (
        ScriptedServer(then=replies.fail(402, "no credit")) as first,
        ScriptedServer([replies.say("Here.")]) as second,
    ):
        settings = two(first, second)
        settings["model.fallback"] = ["openai/gpt-6-luna", "two/second"]
        async with hermes(settings=settings, clock=HastyClock()) as host:
            asked = await host.ask("go")
    assert asked.text == "Here."
    assert told(asked)[0] == "openai/gpt-6-luna cannot stand in: OpenAI needs a key."


async def test_what_was_shown_is_kept_and_nobody_says_it_again(hermes: HostFactory) -> None:
    with (
        ScriptedServer([replies.cut("Half an")]) as first,
        ScriptedServer([replies.say("never")]) as second,
    ):
        async with hermes(settings=two(first, second), clock=HastyClock()) as host:
            asked = await host.ask("go")
    assert (asked.end.outcome, asked.text) == ("incomplete", "Half an")
    assert second.requests == []


async def test_every_model_sees_requests_that_only_grow_and_pays_its_own(
    hermes: HostFactory,
) -> None:
    @tool(toolset="notes", effects=[Pure()])
    async def keep(text: str) -> str:
        """Keep a text."""
        return f"kept {text}"

    class Notes:
        @hookimpl
        def hermes_register_tools(self) -> list[object]:
            return [keep]

    with (
        ScriptedServer(
            [replies.call("keep", {"text": "a"}), replies.fail(402, "no credit")]
        ) as first,
        ScriptedServer([replies.call("keep", {"text": "b"}), replies.say("Done.")]) as second,
    ):
        options = {"plugins": {("hermes.tools", "notes"): Notes()}, "toolsets": ("notes",)}
        async with hermes(settings=two(first, second), clock=HastyClock(), **options) as host:
            asked = await host.ask("go")
    assert asked.text == "Done."
    for server in (first, second):
        earlier, later = (one.body.removesuffix(b"]}") for one in server.requests)
        assert later.startswith(earlier)
    assert asked.end.usage.input == 30


async def test_a_key_that_is_used_up_gives_way_at_once_and_rests(hermes: HostFactory) -> None:
    clock = HastyClock()

    def answer(request: object) -> object:
        spent = used(server)[-1] == "a"
        return replies.fail(429, "limit reached") if spent and len(server.requests) < 4 else say

    say = replies.say("Yes.")
    with ScriptedServer(answer) as server:  # type: ignore[arg-type]
        async with hermes(settings=keys(server, "a", "b"), clock=clock) as host:
            assert (await host.ask("go")).text == "Yes."
            assert (await host.ask("go")).text == "Yes."
            clock.ahead += 3601
            assert (await host.ask("go")).text == "Yes."
        assert used(server) == ["a", "b", "b", "a"]
    assert clock.slept == []


async def test_a_second_process_leaves_a_resting_key_alone(hermes: HostFactory) -> None:
    script = [replies.fail(402, "no credit"), replies.say("One."), replies.say("Two.")]
    with ScriptedServer(script) as server:
        for _ in range(2):
            async with hermes(settings=keys(server, "a", "b"), clock=HastyClock()) as host:
                await host.ask("go")
        assert used(server) == ["a", "b", "b"]


async def test_when_every_key_rests_the_person_hears_when_the_first_is_back(
    hermes: HostFactory,
) -> None:
    busy = replies.fail(429, "limit reached", headers={"retry-after": "600"})
    with ScriptedServer(then=busy) as server:
        async with hermes(settings=keys(server, "a", "b"), clock=HastyClock()) as host:
            await host.ask("go")
            asked = await host.ask("go")
        assert len(server.requests) == 2
    assert asked.end.outcome == "failed"
    assert "all 2 keys rest; the first is back at" in asked.end.reason
    assert "sk-test" not in asked.end.reason


async def test_a_key_that_was_taken_back_never_comes_back(hermes: HostFactory) -> None:
    clock = HastyClock()
    gone = replies.fail(401, "token_revoked")
    with ScriptedServer([gone], then=replies.say("Yes.")) as server:
        async with hermes(settings=keys(server, "a", "b"), clock=clock) as host:
            await host.ask("go")
            clock.ahead += 1_000_000
            await host.ask("go")
        assert used(server) == ["a", "b", "b"]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("fill_first", ["a", "a", "a", "a"]),
        ("round_robin", ["a", "b", "c", "a"]),
        ("least_used", ["a", "b", "c", "a"]),
    ],
)
async def test_a_strategy_says_which_key_is_next(
    hermes: HostFactory, strategy: str, expected: list[str]
) -> None:
    with ScriptedServer(then=replies.say("Yes.")) as server:
        settings = keys(server, "a", "b", "c", strategy=strategy)
        async with hermes(settings=settings, clock=HastyClock()) as host:
            for _ in expected:
                await host.ask("go")
        assert used(server) == expected


async def test_an_error_of_the_fallback_leaves_the_keys_of_the_first_alone(
    hermes: HostFactory,
) -> None:
    with (
        ScriptedServer([replies.fail(503, "overloaded")] * 3 + [replies.say("Yes.")]) as first,
        ScriptedServer(then=replies.fail(429, "limit reached")) as second,
    ):
        settings = {**keys(first, "a", "b"), "providers.two.base_url": second.url}
        settings["model.fallback"] = ["two/second"]
        clock = HastyClock()
        async with hermes(settings=settings, clock=clock) as host:
            await host.ask("go")
            clock.ahead += 6
            assert (await host.ask("go")).text == "Yes."
        assert set(used(first)) == {"a"}


IMAGE = ImagePart(media_type="image/png", data="aGk=")


async def test_an_image_that_is_too_large_is_left_out_from_then_on(hermes: HostFactory) -> None:
    script = [replies.fail(400, "image exceeds 5 MB maximum"), replies.say("A."), replies.say("B.")]
    with ScriptedServer(script) as server:
        async with hermes(server=server, clock=HastyClock()) as host:
            message = Message(role="user", parts=(TextPart("What is this?"), IMAGE))
            assert (await host.ask(message)).text == "A."
            assert (await host.ask("And?")).text == "B."
            (kept, *_) = (await host.session()).history
        bodies = [one.body for one in server.requests]
    assert [b"aGk=" in body for body in bodies] == [True, False, False]
    assert b"image left out" in bodies[1]
    assert bodies[2].startswith(bodies[1].removesuffix(b"]}"))
    assert IMAGE in kept.parts


async def test_a_smaller_answer_is_asked_for_where_the_server_names_the_limit(
    hermes: HostFactory,
) -> None:
    refused = replies.fail(400, "max_tokens: 99999 > 8192, which is the maximum allowed")
    with ScriptedServer([refused, replies.say("A."), replies.say("B.")]) as server:
        async with hermes(server=server, clock=HastyClock()) as host:
            assert (await host.ask("go")).text == "A."
            assert (await host.ask("go")).text == "B."
        assert [one.json.get("max_tokens") for one in server.requests] == [None, 8192, 8192]


async def test_a_refusal_that_nothing_changes_ends_the_turn(hermes: HostFactory) -> None:
    with ScriptedServer(then=replies.fail(400, "image exceeds 5 MB maximum")) as server:
        async with hermes(server=server, clock=HastyClock()) as host:
            asked = await host.ask("there is no image here")
        assert len(server.requests) == 1
    assert asked.end.outcome == "failed"


def test_native_parts_go_when_their_signature_is_refused() -> None:
    from hermes_core.route.classify import Failure
    from hermes_core.route.recover import Changes
    from hermes_plugins.testing import a_request

    part = NativePart("chat_completions", "one", {"signature": "s"})
    answer = msgspec.structs.replace(assistant_message("Hm."), parts=(part, TextPart("Hm.")))
    request = a_request(user_message("go"), answer, native_of="one")
    changes = Changes()
    refused = Failure(reason="thinking_signature", retryable=True)
    assert changes.learn(refused, request)
    changed = changes.apply(request)
    assert changed.native_of == ""
    assert changed.messages is request.messages
    assert not changes.learn(refused, changed)


async def test_patterns_of_schemas_go_when_a_grammar_cannot_hold_them(hermes: HostFactory) -> None:
    class Shop:
        @hookimpl
        def hermes_register_tools(self) -> list[object]:
            from hermes_plugins import Tool

            async def order(arguments: object) -> str:
                return "ordered"

            schema = {
                "type": "object",
                "properties": {"pattern": {"type": "string", "pattern": "^a+$"}},
            }
            return [
                Tool(
                    name="order",
                    description="Order.",
                    parameters=schema,
                    handler=order,
                    toolset="shop",
                    effects=(Pure(),),
                )
            ]

    refused = replies.fail(400, "failed to parse grammar: pattern")
    with ScriptedServer([refused, replies.say("Yes.")]) as server:
        options = {"plugins": {("hermes.tools", "shop"): Shop()}, "toolsets": ("shop",)}
        async with hermes(server=server, clock=HastyClock(), **options) as host:
            asked = await host.ask("go")
        sent = [one.json["tools"][0]["function"]["parameters"] for one in server.requests]  # type: ignore[index]
    assert isinstance(asked.end, TurnEnded)
    assert asked.text == "Yes."
    assert sent[0]["properties"] == {"pattern": {"type": "string", "pattern": "^a+$"}}
    assert sent[1]["properties"] == {"pattern": {"type": "string"}}
