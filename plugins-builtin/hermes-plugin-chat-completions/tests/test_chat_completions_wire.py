"""Requests: what stands in the body, and that it never moves."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hermes_plugin_chat_completions import ChatCompletions

from hermes_plugins import (
    ImagePart,
    Message,
    ModelRequest,
    TextPart,
    ToolCall,
    ToolSpec,
    UnknownPart,
    assistant_message,
    tool_message,
    user_message,
)

SPEC = ToolSpec(name="now", description="The time.", parameters={"type": "object"})


def request(*messages: Message, **fields: object) -> ModelRequest:
    base = ModelRequest(model="m", system="Be brief.", messages=messages)
    return msgspec.structs.replace(base, **fields)


def sent(*messages: Message, **fields: object) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(ChatCompletions().encode(request(*messages, **fields)))
    return decoded


def test_the_body_is_what_the_api_asks_for_with_the_messages_last() -> None:
    body = sent(user_message("Hi"), tools=(SPEC,), max_output=100, extras={"temperature": 0})
    assert list(body) == [
        *("model", "stream", "stream_options", "max_tokens", "temperature", "tools", "messages")
    ]
    function = {"name": "now", "description": "The time.", "parameters": {"type": "object"}}
    assert body["tools"] == [{"type": "function", "function": function}]
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
    ]


def test_without_tools_a_system_prompt_or_a_cap_none_is_sent() -> None:
    body = sent(user_message("Hi"), system="")
    assert list(body) == ["model", "stream", "stream_options", "messages"]
    assert [message["role"] for message in body["messages"]] == ["user"]


def test_extras_replace_a_field_and_none_leaves_it_out() -> None:
    body = sent(user_message("Hi"), extras={"stream_options": None, "model": "other"})
    assert list(body) == ["model", "stream", "messages"]
    assert body["model"] == "other"


def test_a_cap_under_another_name_is_sent_once() -> None:
    body = sent(user_message("Hi"), max_output=100, extras={"max_completion_tokens": 100})
    assert "max_tokens" not in body


def test_what_was_added_for_the_model_follows_what_the_person_wrote() -> None:
    body = sent(user_message("Hi", added=("(recalled)", "(Monday)")))
    assert body["messages"][1]["content"] == "Hi\n\n(recalled)\n\n(Monday)"


def test_images_become_data_urls_in_their_place() -> None:
    parts = (
        TextPart("Look:"),
        ImagePart(media_type="image/png", data="aGk="),
        ImagePart(media_type="image/png", url="https://x.test/a.png"),
        UnknownPart(kind="hologram"),
    )
    body = sent(Message(role="user", parts=parts, added=("(Monday)",)))
    assert body["messages"][1]["content"] == [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}},
        {"type": "text", "text": "[hologram left out: it cannot be sent to this model here]"},
        {"type": "text", "text": "(Monday)"},
    ]


def test_an_image_in_a_tool_result_is_said_to_be_left_out() -> None:
    call = ToolCall(id="c", name="shot", arguments="{}")
    image = ImagePart(media_type="image/png", data="aGk=")
    result = msgspec.structs.replace(tool_message(call, ""), parts=(TextPart("Done. "), image))
    assert sent(result)["messages"][1] == {
        "role": "tool",
        "tool_call_id": "c",
        "content": "Done. [image left out: it cannot be sent to this model here]",
    }


def test_a_call_without_text_has_null_content() -> None:
    call = ToolCall(id="c", name="now", arguments='{"zone": "UTC"}')
    assert sent(assistant_message("", tool_calls=(call,)))["messages"][1] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c",
                "type": "function",
                "function": {"name": "now", "arguments": '{"zone": "UTC"}'},
            }
        ],
    }


@pytest.mark.parametrize(
    ("arguments", "on_the_wire"),
    [
        ("", "{}"),
        ('{"a": 1}', '{"a": 1}'),
        ('{"a": ', '{"unparsed_arguments":"{\\"a\\": "}'),
        ("[1]", '{"unparsed_arguments":"[1]"}'),
    ],
)
def test_past_arguments_are_always_an_object(arguments: str, on_the_wire: str) -> None:
    call = ToolCall(id="c", name="now", arguments=arguments)
    message = sent(assistant_message("", tool_calls=(call,)))["messages"][1]
    assert message["tool_calls"][0]["function"]["arguments"] == on_the_wire


def test_reasoning_is_sent_back_only_under_the_name_the_profile_gives() -> None:
    thought = msgspec.structs.replace(assistant_message("Yes."), reasoning="Hm.")
    assert "reasoning_content" not in sent(thought)["messages"][1]
    back = sent(thought, reasoning_field="reasoning_content")["messages"][1]
    assert back == {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}


def test_another_reasoning_field_encodes_past_messages_anew() -> None:
    thought = msgspec.structs.replace(assistant_message("Yes."), reasoning="Hm.")
    dialect = ChatCompletions()
    dialect.encode(request(thought))
    assert b'"reasoning":"Hm."' in dialect.encode(request(thought, reasoning_field="reasoning"))


def test_half_a_character_does_not_stop_a_request() -> None:
    assert sent(user_message("a\ud83db"))["messages"][1]["content"] == "a\ufffdb"


def test_other_tools_and_another_prompt_are_noticed() -> None:
    dialect, message = ChatCompletions(), user_message("Hi")
    dialect.encode(request(message, tools=(SPEC,)))
    body = dialect.encode(request(message, system="Be loud."))
    assert body == ChatCompletions().encode(request(message, system="Be loud."))
