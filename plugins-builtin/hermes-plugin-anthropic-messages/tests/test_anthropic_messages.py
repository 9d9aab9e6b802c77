"""The dialect anthropic_messages: its contract, and what is its own."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import pytest
from hermes_plugin_anthropic_messages import AnthropicMessages

from hermes_plugins import (
    ImagePart,
    Message,
    NativePart,
    NativePiece,
    TextPart,
    ToolCall,
    assistant_message,
    tool_message,
    user_message,
)
from hermes_plugins.testing import (
    DialectConformance,
    ScriptedServer,
    a_request,
    anthropic,
    ask,
)
from hermes_plugins.testing.replies import Reply

MARK = re.compile(rb',"cache_control":\{[^}]*\}')


class TestAnthropicMessages(DialectConformance):
    name = "anthropic_messages"

    def make(self) -> AnthropicMessages:
        return AnthropicMessages()

    def reply_text(self, pieces: Sequence[str]) -> Reply:
        return anthropic.say(pieces)

    def reply_calls(self, calls: Sequence[ToolCall]) -> Reply:
        return anthropic.calls(calls)

    def reply_cut(self, text: str) -> Reply:
        return anthropic.cut(text)

    def reply_error_in_stream(self, message: str, after: str) -> Reply:
        return anthropic.error_in_stream(message, after=after)

    def reply_refused(self, status: int, message: str) -> Reply:
        return anthropic.fail(status, message, headers={"retry-after": "7"})

    def stable_part(self, body: bytes) -> bytes:
        return body.removesuffix(b"]}]}")  # results of one answer join the message before


@pytest.fixture(autouse=True)
def without_marks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite compares requests as the vendor's cache does: without the marks."""
    if request.function.__name__ == "test_every_request_begins_with_the_one_before":
        encode = AnthropicMessages.encode
        monkeypatch.setattr(
            AnthropicMessages, "encode", lambda self, request: MARK.sub(b"", encode(self, request))
        )


def sent(*messages: Message, **fields: object) -> dict[str, object]:
    return msgspec.json.decode(AnthropicMessages().encode(a_request(*messages, **fields)))


CALLS = (
    ToolCall(id="a", name="read_file", arguments='{"path": "x"}'),
    ToolCall(id="b", name="read_file", arguments="broken"),
)


def test_the_system_prompt_and_the_last_three_messages_are_marked() -> None:
    body = AnthropicMessages().encode(
        a_request(*[user_message(f"number {n}") for n in range(6)], system="Be terse.")
    )
    assert len(MARK.findall(body)) == 4
    marked = [
        bool(MARK.search(one)) for one in body.partition(b'"messages":')[2].split(b'"role"')[1:]
    ]
    assert marked == [False, False, False, True, True, True]


def test_an_hour_of_cache_can_be_asked_for() -> None:
    body = sent(user_message("go"), extras={"cache_ttl": "1h"})
    assert body["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert "cache_ttl" not in body


def test_results_of_one_answer_are_one_message_and_failures_are_marked() -> None:
    body = sent(
        user_message("go"),
        assistant_message("", tool_calls=CALLS),
        tool_message(CALLS[0], "text"),
        tool_message(CALLS[1], "no such file", status="failed"),
        user_message("and?"),
    )
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["user", "assistant", "user", "user"]
    first, second = body["messages"][2]["content"]
    assert (first["tool_use_id"], "is_error" in first) == ("a", False)
    assert (second["tool_use_id"], second["is_error"]) == ("b", True)
    uses = body["messages"][1]["content"]
    assert [one["input"] for one in uses] == [{"path": "x"}, {"unparsed_arguments": "broken"}]


def test_empty_texts_are_not_sent() -> None:
    body = sent(user_message("go"), assistant_message("  "), user_message("again"))
    assert [message["role"] for message in body["messages"]] == ["user", "user"]


def test_images_travel_in_messages_and_in_results() -> None:
    image = ImagePart(media_type="image/png", data="aGk=")
    result = msgspec.structs.replace(
        tool_message(CALLS[0], "seen"), parts=(TextPart("seen"), image)
    )
    body = sent(
        Message(role="user", parts=(TextPart("look"), image)),
        assistant_message("", tool_calls=CALLS[:1]),
        result,
    )
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    assert body["messages"][0]["content"][1]["source"] == source
    assert body["messages"][2]["content"][0]["content"][1]["source"] == source


async def test_a_signed_thought_is_shown_kept_and_sent_back(model_server: ScriptedServer) -> None:
    model_server.script(anthropic.think("Let me see.", "Yes."))
    answer = await ask(AnthropicMessages(), model_server)
    (native,) = [delta for delta in answer.deltas if isinstance(delta, NativePiece)]
    block = {"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmVk"}
    assert (answer.reasoning, answer.text, native.data) == ("Let me see.", "Yes.", block)
    part = NativePart("anthropic_messages", "anthropic", native.data)
    message = Message(role="assistant", parts=(part, TextPart("Yes.")))
    body = sent(user_message("Is it?"), message, user_message("Why?"), native_of="anthropic")
    assert body["messages"][1]["content"][0] == block
    body = sent(user_message("Is it?"), message, user_message("Why?"), native_of="")
    assert [one["type"] for one in body["messages"][1]["content"]] == ["text"]


async def test_usage_tells_what_was_read_from_the_cache_and_written_to_it(
    model_server: ScriptedServer,
) -> None:
    model_server.script(anthropic.say("Hi"))
    usage = (await ask(AnthropicMessages(), model_server)).usage
    assert usage is not None
    assert (usage.input, usage.cached, usage.written, usage.output) == (10, 2, 1, 5)


@pytest.mark.parametrize(
    ("stop", "reason"),
    [("max_tokens", "length"), ("refusal", "refusal"), ("new_reason", "unknown")],
)
async def test_a_stop_reason_is_translated(
    model_server: ScriptedServer, stop: str, reason: str
) -> None:
    model_server.script(anthropic.say("Hi", stop=stop))
    answer = await ask(AnthropicMessages(), model_server)
    assert [mark.reason for mark in answer.finishes] == [reason]


async def test_a_whole_answer_in_place_of_a_stream_is_read(model_server: ScriptedServer) -> None:
    content = [
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "a", "name": "t", "input": {"x": 1}},
    ]
    body = {
        "content": content,
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    model_server.script(Reply(body=msgspec.json.encode(body)))
    answer = await ask(AnthropicMessages(), model_server)
    assert answer.text == "Hi"
    assert answer.calls == [ToolCall(id="a", name="t", arguments='{"x":1}')]
    assert [mark.reason for mark in answer.finishes] == ["tool_calls"]
