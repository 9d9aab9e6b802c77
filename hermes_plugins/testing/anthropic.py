"""Replies in the wire format of Anthropic's Messages API, for `ScriptedServer`.

The events are those of its page on streaming: named server-sent events, usage in two parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from hermes_plugins._messages import Json, ToolCall
from hermes_plugins.testing.replies import End, Reply

_encode = msgspec.json.Encoder().encode
_INPUT: Mapping[str, Json] = {
    "input_tokens": 7,
    "cache_read_input_tokens": 2,
    "cache_creation_input_tokens": 1,
}


def say(text: str | Sequence[str], *, stop: str = "end_turn") -> Reply:
    """Text, in one delta or in the pieces given."""
    pieces = [text] if isinstance(text, str) else text
    return _reply(_text(0, pieces), stop=stop)


def think(thought: str, text: str, *, signature: str = "c2lnbmVk") -> Reply:
    """A signed thought, then text."""
    return _reply([*_thought(0, thought, signature), *_text(1, [text])], stop="end_turn")


def calls(wanted: Iterable[ToolCall], *, thought: str = "", text: str = "") -> Reply:
    """Tool calls, each a block of its own, its arguments in two pieces."""
    events: list[Mapping[str, Json]] = []
    index = 0
    if thought:
        events += _thought(index, thought, "c2lnbmVk")
        index += 1
    if text:
        events += _text(index, [text])
        index += 1
    for call in wanted:
        half = (len(call.arguments) + 1) // 2
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        for piece in (call.arguments[:half], call.arguments[half:]):
            delta = {"type": "input_json_delta", "partial_json": piece}
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
        index += 1
    return _reply(events, stop="tool_use")


def cut(text: str) -> Reply:
    """Text, and then the connection drops."""
    return _reply(_text(0, [text])[:-1], stop="", end="cut")


def error_in_stream(message: str, *, after: str = "", kind: str = "overloaded_error") -> Reply:
    """An error stated in a 200 stream, after some text."""
    events = _text(0, [after])[:-1] if after else []
    error = {"type": "error", "error": {"type": kind, "message": message}}
    return _reply([*events, error], stop="")


def fail(
    status: int,
    message: str,
    *,
    kind: str = "invalid_request_error",
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """An error status."""
    body = _encode({"type": "error", "error": {"type": kind, "message": message}})
    return Reply(status=status, body=body, headers=headers or {})


def _text(index: int, pieces: Sequence[str]) -> list[Mapping[str, Json]]:
    block = {"type": "text", "text": ""}
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _thought(index: int, thought: str, signature: str) -> list[Mapping[str, Json]]:
    block = {"type": "thinking", "thinking": "", "signature": ""}
    half = (len(thought) + 1) // 2
    deltas: list[Mapping[str, Json]] = [
        {"type": "thinking_delta", "thinking": thought[:half]},
        {"type": "thinking_delta", "thinking": thought[half:]},
        {"type": "signature_delta", "signature": signature},
    ]
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _reply(events: Iterable[Mapping[str, Json]], *, stop: str, end: End = "done") -> Reply:
    start: Mapping[str, Json] = {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": [],
            "usage": {**_INPUT, "output_tokens": 1},
        },
    }
    frames = [start, {"type": "ping"}, *events]
    if stop:
        delta = {"stop_reason": stop, "stop_sequence": None}
        frames.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}})
        frames.append({"type": "message_stop"})
    encoded = tuple(
        b"event: %b\ndata: %b\n\n" % (str(frame["type"]).encode(), _encode(frame))
        for frame in frames
    )
    return Reply(events=encoded, raw=True, content_type="text/event-stream", end=end)
