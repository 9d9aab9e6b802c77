"""Answers: every form in which servers send text, reasoning, calls, usage, finishes and errors."""

from __future__ import annotations

import json

import pytest
from hermes_plugin_chat_completions.stream import AnswerDecoder
from hypothesis import given
from hypothesis import strategies as st

from hermes_plugins import (
    Delta,
    FinishMark,
    Json,
    ReasoningPiece,
    TextPiece,
    ToolFragment,
    Usage,
    UsageReport,
)
from hermes_plugins.testing import Answer

END = {"choices": [{"delta": {}, "finish_reason": "stop"}]}


def read(*events: Json, step: int = 0) -> Answer:
    """Decode events that arrive in one network chunk, or in chunks of ``step`` bytes."""
    lines = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in events]
    body = b"".join(b"data: " + line + b"\n\n" for line in lines)
    decoder, deltas = AnswerDecoder("acme", {}), list[Delta]()
    for start in range(0, len(body), step or len(body)):
        deltas += decoder.feed(body[start : start + (step or len(body))])
    return Answer(deltas=[*deltas, *decoder.flush()], error=decoder.error)


def delta(**fields: Json) -> Json:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


def body(text: bytes) -> Answer:
    decoder = AnswerDecoder("acme", {})
    return Answer(deltas=decoder.feed(text) + decoder.flush(), error=decoder.error)


def test_text_of_one_network_chunk_is_one_piece() -> None:
    answer = read(delta(content="a"), delta(content="b"), delta(content="c"), END)
    assert answer.deltas == [TextPiece("abc"), FinishMark("stop")]


def test_text_and_calls_keep_their_order() -> None:
    part = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}
    answer = read(delta(reasoning="Hm."), delta(content="Now:"), delta(tool_calls=[part]))
    assert answer.deltas == [
        ReasoningPiece("Hm."),
        TextPiece("Now:"),
        ToolFragment(index=0, id="c", name="f", arguments="{}"),
    ]


@pytest.mark.parametrize("step", [1, 2, 3, 7, 64])
def test_the_size_of_the_network_chunks_changes_nothing(step: int) -> None:
    events = (delta(content="Grüße "), delta(content="☕😀"), END, b"[DONE]")
    assert read(*events, step=step).text == "Grüße ☕😀"


@pytest.mark.parametrize(
    "content",
    ["Hello", [{"type": "text", "text": "Hello"}], ["Hel", {"text": "lo"}]],
    ids=["text", "parts", "loose parts"],
)
def test_content_may_be_text_or_parts(content: Json) -> None:
    assert read(delta(content=content)).text == "Hello"


@pytest.mark.parametrize("content", [None, "", [], {}, 5])
def test_content_that_is_no_text_is_passed_over(content: Json) -> None:
    answer = read(delta(content=content), END)
    assert (answer.text, answer.error) == ("", None)


@pytest.mark.parametrize(
    "fields",
    [
        {"reasoning_content": "Hm."},
        {"reasoning": "Hm."},
        {"reasoning": "Hm.", "reasoning_content": "Hm."},
        {"reasoning": "Hm.", "reasoning_details": [{"type": "reasoning.text", "text": "Hm."}]},
        {"reasoning_details": [{"type": "reasoning.text", "text": "Hm."}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "Hm."}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]},
    ],
)
def test_reasoning_is_read_once_under_each_of_its_names(fields: dict[str, Json]) -> None:
    answer = read(delta(**fields))
    assert (answer.reasoning, answer.text) == ("Hm.", "")


@pytest.mark.parametrize(("index", "expected"), [(1, 1), ("1", 1), (None, -1), ("x", -1), (1.0, 1)])
def test_an_index_may_be_missing_or_text(index: Json, expected: int) -> None:
    answer = read(delta(tool_calls=[{"index": index, "id": "c", "function": {"name": "f"}}]))
    assert answer.fragments == [ToolFragment(index=expected, id="c", name="f")]


def test_arguments_as_an_object_are_whole() -> None:
    part = {"id": "c", "function": {"name": "f", "arguments": {"path": "ä"}}}
    answer = read(delta(tool_calls=[part]))
    assert answer.fragments == [
        ToolFragment(id="c", name="f", arguments='{"path":"ä"}', whole=True)
    ]


def test_calls_of_a_whole_answer_are_whole() -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": '{"a":1}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = body(json.dumps({"choices": [{"message": message, "finish_reason": ""}]}).encode())
    assert answer.deltas == [
        ToolFragment(id="c", name="f", arguments='{"a":1}', whole=True),
        FinishMark("unknown", "unknown"),
    ]


def test_the_old_function_call_is_a_call() -> None:
    answer = read(delta(function_call={"name": "f", "arguments": "{}"}))
    assert answer.fragments == [ToolFragment(index=0, name="f", arguments="{}")]


@pytest.mark.parametrize(
    ("sent", "mark"),
    [
        ("stop", FinishMark("stop")),
        ("end_turn", FinishMark("stop")),
        ("tool_calls", FinishMark("tool_calls")),
        ("function_call", FinishMark("tool_calls")),
        ("length", FinishMark("length")),
        ("MAX_TOKENS", FinishMark("length")),
        ("content_filter", FinishMark("refusal")),
        ("error", FinishMark("error")),
        ("abort", FinishMark("unknown", "abort")),
        (7, FinishMark("unknown")),
    ],
)
def test_finish_reasons(sent: Json, mark: FinishMark) -> None:
    assert read({"choices": [{"delta": {}, "finish_reason": sent}]}).finishes == [mark]


def test_a_finish_that_is_repeated_with_the_usage_counts_once() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 1}
    answer = read(delta(content="Hi"), END, {**END, "usage": usage}, b"[DONE]")
    assert answer.finishes == [FinishMark("stop")]
    assert answer.usage == Usage(input=3, output=1)


def test_an_empty_finish_reason_is_none() -> None:
    answer = read({"choices": [{"delta": {"content": "a"}, "finish_reason": ""}]}, END)
    assert answer.deltas == [TextPiece("a"), FinishMark("stop")]


def test_the_vendors_own_reason_is_kept_as_detail() -> None:
    choice = {"delta": {}, "finish_reason": "stop", "native_finish_reason": "end_turn"}
    assert read({"choices": [choice]}).finishes == [FinishMark("stop", "end_turn")]


def test_a_refusal_is_shown_and_told_apart() -> None:
    answer = read(delta(content=None, refusal="I can't help with that."), END)
    assert answer.text == "I can't help with that."
    assert answer.finishes == [FinishMark("refusal")]


@pytest.mark.parametrize(
    ("wire", "usage"),
    [
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 20,
                "prompt_tokens_details": {"cached_tokens": 80},
                "completion_tokens_details": {"reasoning_tokens": 15},
                "cost": 0.0125,
            },
            Usage(input=100, output=20, cached=80, reasoning=15, cost=0.0125),
        ),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}, Usage(input=9, cached=4)),
        ({"prompt_tokens": 9, "cached_tokens": 4}, Usage(input=9, cached=4)),
        (
            {"prompt_tokens": 9, "completion_tokens": None, "prompt_tokens_details": None},
            Usage(input=9),
        ),
        ({"prompt_tokens": "many", "cost": "free"}, Usage()),
    ],
)
def test_usage(wire: Json, usage: Usage) -> None:
    assert read({"choices": [], "usage": wire}).deltas == [UsageReport(usage)]


@pytest.mark.parametrize("choices", [None, []])
def test_a_last_event_may_have_no_choices(choices: Json) -> None:
    answer = read(delta(content="Hi"), END, {"choices": choices, "usage": {"prompt_tokens": 1}})
    assert answer.usage == Usage(input=1)
    assert answer.error is None


@pytest.mark.parametrize(
    "event",
    [
        {"error": {"message": "boiler broke", "code": 502}},
        {"error": "boiler broke"},
        {"error_type": "server", "error_message": "boiler broke"},
        {"object": "error", "message": "boiler broke"},
        {"message": "boiler broke"},
        {"detail": "boiler broke"},
        {"detail": [{"msg": "boiler broke"}]},
        {"choices": [{"delta": {}, "error": {"message": "boiler broke"}}]},
        {
            "choices": [{"delta": {"content": ""}, "finish_reason": "error"}],
            "error": "boiler broke",
        },
    ],
)
def test_every_form_of_an_error_is_recognised_after_the_text_before_it(event: Json) -> None:
    answer = read(delta(content="So far"), event, delta(content="never read"))
    assert answer.text == "So far"
    assert answer.error is not None
    assert answer.error.message == "acme reported an error: boiler broke"
    assert answer.error.in_stream


def test_the_vendor_behind_an_aggregator_is_named() -> None:
    metadata = {"provider_name": "Upstream", "raw": "too many requests"}
    error = {"message": "Provider returned error", "code": 429, "metadata": metadata}
    answer = read({"error": error})
    assert answer.error is not None
    assert answer.error.message.endswith("Provider returned error (Upstream: too many requests)")
    assert answer.error.status == 429


def test_a_null_error_is_no_error() -> None:
    event = {"choices": [{"delta": {"content": "Hi"}, "error": None}], "error": None}
    assert read(event).error is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            b"<!DOCTYPE html><html><head><title>Just a\n moment...</title></head></html>",
            "acme answered with a web page (Just a moment...) in place of a model's answer.",
        ),
        (
            b"\n <html></html>",
            "acme answered with a web page (untitled) in place of a model's answer.",
        ),
        (b'{"choices": [', "acme sent something that is no answer: '{\"choices\": ['"),
        (b'{"choices": []}', "acme sent something that is no answer: '{\"choices\": []}'"),
        (b"[]", "acme sent something that is no answer: '[]'"),
    ],
)
def test_what_is_no_answer_is_retryable_and_shown(text: bytes, message: str) -> None:
    answer = body(text)
    assert answer.error is not None
    assert answer.error.message == message
    assert (answer.error.reason, answer.error.retryable) == ("malformed_response", True)


def test_broken_json_inside_a_stream_is_a_malformed_response() -> None:
    answer = read(delta(content="So far"), b'{"choices": [{"delta"')
    assert answer.text == "So far"
    assert answer.error is not None
    assert answer.error.reason == "malformed_response"


def test_a_whole_body_that_states_an_error_is_that_error() -> None:
    answer = body(b'{"error": {"message": "no such model", "code": "model_not_found"}}')
    assert answer.error is not None
    assert answer.error.message == "acme reported an error: no such model"


def test_comments_empty_data_and_a_byte_order_mark_are_skipped() -> None:
    stream = (
        b"\xef\xbb\xbfdata: \n\n: PROCESSING\n\ndata:" + json.dumps(delta(content="Hi")).encode()
    )
    answer = body(stream + b"\r\n\r\n")
    assert (answer.text, answer.error) == ("Hi", None)


def test_a_character_split_over_two_deltas_is_joined() -> None:
    halves = (
        rb'{"choices":[{"delta":{"content":"a\ud83d"}}]}',
        rb'{"choices":[{"delta":{"content":"\ude00b"}}]}',
    )
    for step in (0, 10):
        answer = read(*halves, END, step=step)
        assert (answer.text, answer.error) == ("a😀b", None)


def test_a_lone_half_of_a_character_becomes_a_replacement_mark() -> None:
    answer = read(rb'{"choices":[{"delta":{"content":"a\ude00b"}}]}')
    assert answer.text == "a\ufffdb"


@given(st.binary(max_size=200))
def test_no_input_makes_the_decoder_raise(noise: bytes) -> None:
    decoder = AnswerDecoder("acme", {})
    decoder.feed(noise)
    decoder.flush()
    fed = AnswerDecoder("acme", {})
    fed.feed(b"data: " + noise + b"\n\n")
    fed.flush()
