"""What real servers get wrong, and what the dialect makes of it, one row a complaint.

The dialect's part is to pass on every fragment under the right index and id, to keep errors in the
server's words, and to tell a finished answer from a cut one. Joining is the assembler's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hermes_plugin_chat_completions import ChatCompletions

from hermes_plugins import FinishMark, Json, ToolFragment
from hermes_plugins.testing import Answer, ScriptedServer, ask, replies
from hermes_plugins.testing.replies import Reply

ONE: tuple[str, Mapping[str, Json]] = ("read_file", {"path": "a.txt"})
TWO: tuple[str, Mapping[str, Json]] = ("read_file", {"path": "b.txt"})


async def answer_to(server: ScriptedServer, reply: Reply) -> Answer:
    server.script(reply)
    return await ask(ChatCompletions(), server)


async def test_a1_a_repeated_call_arrives_as_the_same_fragment_each_time(
    model_server: ScriptedServer,
) -> None:
    answer = await answer_to(model_server, replies.repeat_deltas(*ONE, times=3))
    whole = ToolFragment(index=0, id="call_1", name="read_file", arguments='{"path":"a.txt"}')
    assert answer.fragments == [whole] * 3


async def test_a2_two_calls_that_share_an_index_keep_their_ids(
    model_server: ScriptedServer,
) -> None:
    answer = await answer_to(model_server, replies.same_index([ONE, TWO]))
    assert [(part.index, part.id) for part in answer.fragments] == [(0, "call_1"), (0, "call_2")]
    assert [call.arguments for call in answer.calls] == ['{"path":"a.txt"}', '{"path":"b.txt"}']


async def test_a3_objects_run_together_arrive_unchanged(model_server: ScriptedServer) -> None:
    reply = replies.joined_arguments("read_file", {"path": "a.txt"}, {"path": "b.txt"})
    answer = await answer_to(model_server, reply)
    assert answer.calls[0].arguments == '{"path":"a.txt"}{"path":"b.txt"}'


async def test_a4_interleaved_fragments_keep_their_index(model_server: ScriptedServer) -> None:
    answer = await answer_to(model_server, replies.interleaved([ONE, TWO], size=3))
    assert [part.index for part in answer.fragments[2:6]] == [0, 1, 0, 1]
    assert [json.loads(call.arguments) for call in answer.calls] == [ONE[1], TWO[1]]


async def test_a5_cut_arguments_arrive_as_cut_and_the_finish_says_why(
    model_server: ScriptedServer,
) -> None:
    reply = replies.truncated_arguments("write_file", {"path": "a", "content": "long"}, keep=20)
    answer = await answer_to(model_server, reply)
    assert answer.calls[0].arguments == '{"path":"a","content'
    assert answer.finishes == [FinishMark("length")]


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "text/event-stream"])
async def test_a10_a_whole_answer_to_a_streaming_request_is_shown(
    model_server: ScriptedServer, content_type: str
) -> None:
    whole = replies.Reply(body=replies.say("Hello there.").body, content_type=content_type)
    answer = await answer_to(model_server, whole)
    assert answer.error is None
    assert answer.text == "Hello there."
    assert answer.finishes == [FinishMark("stop")]
    assert answer.usage is not None
    assert answer.usage.input == 10


@pytest.mark.parametrize("shape", ["error", "error_type", "object"])
async def test_a15_an_error_inside_the_stream_is_an_error_in_the_servers_words(
    model_server: ScriptedServer, shape: str
) -> None:
    words = "This model's maximum context length is 163840 tokens."
    reply = replies.error_in_stream(
        words,
        code="context_length_exceeded",
        shape=shape,  # type: ignore[arg-type]
    )
    answer = await answer_to(model_server, reply)
    assert answer.error is not None
    assert answer.error.in_stream
    assert words in answer.error.message
    assert "context_length_exceeded" in answer.error.body


async def test_a15_the_code_inside_the_stream_counts_as_the_status(
    model_server: ScriptedServer,
) -> None:
    answer = await answer_to(model_server, replies.error_in_stream("slow down", code=429))
    assert answer.error is not None
    assert answer.error.status == 429


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(replies.no_finish("It was a dark and"), id="ended politely"),
        pytest.param(replies.cut("It was a dark and"), id="connection dropped"),
        pytest.param(
            replies.raw(
                {"choices": [{"delta": {"content": "It was a dark and"}}]},
                b'{"choices": [{"del',
                end="no_done",
            ),
            id="broken off inside an event",
        ),
    ],
)
async def test_a16_a_stream_without_a_finish_has_no_finish_mark(
    model_server: ScriptedServer, reply: Reply
) -> None:
    answer = await answer_to(model_server, reply)
    assert answer.text == "It was a dark and"
    assert answer.finishes == []


async def test_a17_a_last_event_without_its_blank_line_counts(
    model_server: ScriptedServer,
) -> None:
    answer = await answer_to(model_server, replies.unfinished_event("Once upon a time."))
    assert answer.error is None
    assert answer.text == "Once upon a time."
    assert answer.finishes == [FinishMark("stop")]


async def test_a17_a_connection_that_breaks_after_the_finish_takes_nothing_away(
    model_server: ScriptedServer,
) -> None:
    whole = replies.say("Once upon a time.")
    answer = await answer_to(model_server, replies.raw(*whole.events, end="cut"))
    assert answer.error is None
    assert answer.finishes == [FinishMark("stop")]


async def test_a25_without_a_key_no_authorization_is_sent(model_server: ScriptedServer) -> None:
    await answer_to(model_server, replies.say("Hi"))
    assert "authorization" not in model_server.requests[0].headers


async def test_a8_json_that_breaks_off_is_worth_another_try(model_server: ScriptedServer) -> None:
    answer = await answer_to(model_server, replies.Reply(body=b'{"choices": [{"mess'))
    assert answer.error is not None
    assert answer.error.retryable
    assert answer.error.reason == "malformed_response"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (replies.html("Attention Required!", status=403), "403: Attention Required!"),
        (replies.fail(403, body=b"blocked by\n the proxy"), "403: blocked by the proxy"),
        (replies.fail(500, body=b""), "500: it said nothing more"),
        (replies.fail(404, body={"error": "model 'x' not found"}), "404: model 'x' not found"),
        (replies.fail(422, body={"detail": [{"msg": "Field required"}]}), "422: Field required"),
        (replies.fail(400, body=b'[{"error": {"message": "bad key"}}]'), "400: bad key"),
        (replies.fail(400, body={"error": {"type": "odd"}}), "400: odd"),
        (replies.fail(401, body={"code": 7}), '401: {"code":7}'),
    ],
)
async def test_a24_an_error_status_is_told_in_the_servers_words(
    model_server: ScriptedServer, reply: Reply, said: str
) -> None:
    answer = await answer_to(model_server, reply)
    assert answer.error is not None
    assert answer.error.message == f"scripted answered {said}"


async def test_a24_a_web_page_in_place_of_an_answer_says_what_to_check(
    model_server: ScriptedServer,
) -> None:
    answer = await answer_to(model_server, replies.html("Sign in"))
    assert str(answer.error) == (
        "scripted answered with a web page (Sign in) in place of a model's answer. "
        "Check the address: hermes config set model.base_url URL (many end in /v1)"
    )
