"""Answers: what a turn tells, as chat completions and their chunks.

The form: https://platform.openai.com/docs/api-reference/chat/streaming. An error inside a stream has the
form that OpenRouter gives it: ``error`` beside a choice that finished with ``error``.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from hermes_plugins import Json, Usage

KEEPALIVE = b": keepalive\n\n"
DONE = b"data: [DONE]\n\n"

_encode = msgspec.json.Encoder().encode


class ChunkWriter:
    """Makes the events of one stream; what they have in common is encoded once."""

    def __init__(self, *, ident: str, created: int, model: str) -> None:
        self._head = {
            "id": ident,
            "object": "chat.completion.chunk",
            "created": created,
            "model": model,
        }
        common = _encode(self._head)[:-1]
        self._text = b"data: " + common + b',"choices":[{"index":0,"delta":{"content":'
        self._reasoning = (
            b"data: " + common + b',"choices":[{"index":0,"delta":{"reasoning_content":'
        )

    def begin(self) -> bytes:
        """The first event."""
        return self._event({"role": "assistant", "content": ""})

    def text(self, text: str) -> bytes:
        """More of the answer."""
        return self._text + _encode(text) + b'},"finish_reason":null}]}\n\n'

    def reasoning(self, text: str) -> bytes:
        """More of what the model thinks."""
        return self._reasoning + _encode(text) + b'},"finish_reason":null}]}\n\n'

    def finish(self, reason: str) -> bytes:
        """The last event with a choice."""
        return self._event({}, reason)

    def usage(self, usage: Usage) -> bytes:
        """What it cost."""
        return _event({**self._head, "choices": [], "usage": usage_of(usage)})

    def error(self, error: Mapping[str, Json]) -> bytes:
        """The last event of an answer that broke off."""
        choice = {"index": 0, "delta": {}, "finish_reason": "error"}
        return _event({**self._head, "error": error, "choices": [choice]})

    def _event(self, delta: Mapping[str, Json], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return _event({**self._head, "choices": [choice]})


def completion(
    text: str, reason: str, usage: Usage, *, ident: str, created: int, model: str
) -> bytes:
    """A whole answer."""
    message = {"role": "assistant", "content": text, "refusal": None}
    return _encode(
        {
            "id": ident,
            "object": "chat.completion",
            "created": created,
            "model": model,
            "choices": [
                {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
            ],
            "usage": usage_of(usage),
        }
    )


def usage_of(usage: Usage) -> Mapping[str, Json]:
    """Tokens of all model calls of a turn together."""
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _event(value: Mapping[str, Json]) -> bytes:
    return b"data: " + _encode(value) + b"\n\n"
