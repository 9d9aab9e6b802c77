"""Listed words stay here: what the provider reads, and what the person and the tools get."""

from __future__ import annotations

import pytest
from hermes_plugin_mask.stand_ins import mask, unmask

from hermes_plugins import (
    Message,
    ModelRequest,
    Pure,
    Tool,
    ToolCall,
    assistant_message,
    hookimpl,
    tool,
    user_message,
)
from hermes_plugins.testing import ScriptedServer, replies

WORDS = ("Ada Lovelace", "Ada", 'the "Engine"')


def request(*messages: Message, system: str = "") -> ModelRequest:
    return ModelRequest(model="m", system=system, messages=messages)


def texts(masked: ModelRequest) -> list[str]:
    return [message.text for message in masked.messages]


def test_every_place_of_a_request_is_masked() -> None:
    call = ToolCall(id="1", name="find", arguments='{"q": "ada LOVELACE and the \\"engine\\""}')
    masked = mask(
        request(
            Message(role="user", parts=user_message("Ask Ada.").parts, added=("Ada is here",)),
            assistant_message("I ask Ada Lovelace.", tool_calls=(call,)),
            system="You work for Ada Lovelace.",
        ),
        WORDS,
    )
    assert masked.system == "You work for [[masked-1]]."
    assert texts(masked) == ["Ask [[masked-2]].", "I ask [[masked-1]]."]
    assert masked.messages[0].added == ("[[masked-2]] is here",)
    assert masked.messages[1].tool_calls[0].arguments == '{"q": "[[masked-1]] and [[masked-3]]"}'


def test_an_answer_has_the_words_again_and_its_arguments_stay_json() -> None:
    call = ToolCall(id="1", name="find", arguments='{"q": "[[masked-3]]"}')
    shown = unmask(
        assistant_message("Hello [[masked-1]], [[masked-9]].", tool_calls=(call,)), WORDS
    )
    assert shown.text == "Hello Ada Lovelace, [[masked-9]]."
    assert shown.tool_calls[0].arguments == '{"q": "the \\"Engine\\""}'


@pytest.mark.parametrize("words", [(), ("",)])
def test_without_words_nothing_changes(words: tuple[str, ...]) -> None:
    asked = request(user_message("Ada"))
    assert mask(asked, words) is asked
    assert unmask(asked.messages[0], words) is asked.messages[0]


def test_a_word_that_is_added_at_the_end_leaves_the_others_as_they_were() -> None:
    asked = request(user_message("Ada met Babbage"))
    assert texts(mask(asked, ("Ada",))) == ["[[masked-1]] met Babbage"]
    assert texts(mask(asked, ("Ada", "Babbage"))) == ["[[masked-1]] met [[masked-2]]"]


async def test_the_provider_never_reads_the_word_and_the_tool_gets_it(hermes) -> None:
    heard: list[str] = []

    class Phone:
        @hookimpl
        def hermes_register_tools(self) -> list[Tool]:
            @tool(toolset="phone", effects=[Pure()])
            async def ring(who: str) -> str:
                """Ring somebody."""
                heard.append(who)
                return f"{who} is not at home"

            return [ring]

    script = [
        replies.call("ring", {"who": "[[masked-1]]"}),
        replies.say("No [[masked-1]].", split=3),
    ]
    with ScriptedServer(script) as server:
        async with hermes(
            plugins={("hermes.tools", "phone"): Phone()},
            settings={"plugins.enabled": ["mask"], "plugins.mask.words": ["Ada Lovelace"]},
            server=server,
            toolsets=("phone",),
        ) as host:
            asked = await host.ask("Ring Ada Lovelace")
            history = (await host.session()).history
        sent = b"".join(one.body for one in server.requests)
    assert b"Lovelace" not in sent
    assert heard == ["Ada Lovelace"]
    assert asked.text == "No Ada Lovelace."
    assert [message.text for message in history] == [
        "Ring Ada Lovelace",
        "",
        "Ada Lovelace is not at home",
        "No Ada Lovelace.",
    ]
    first, second = (one.messages for one in server.requests)
    assert second[: len(first)] == first
