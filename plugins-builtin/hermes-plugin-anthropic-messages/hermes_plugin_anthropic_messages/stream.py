"""Answers: the events of a Messages stream, or one JSON body, to our deltas.

Lenient on purpose: unknown events, blocks and deltas are passed over (Anthropic's page on streaming
says that more may come). Only a stated error and data that is no answer stop a stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from hermes_plugins import (
    Delta,
    Finish,
    FinishMark,
    Json,
    NativePiece,
    ProviderError,
    ReasoningPiece,
    SseDecoder,
    TextPiece,
    ToolFragment,
    Usage,
    UsageReport,
    encode_json,
    stated_error,
    unreadable_answer,
)

_FINISHES: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})


class AnswerDecoder:
    """Turns one answer into deltas; give it every chunk, then `flush` it.

    Neither raises: what stops the answer is put into ``error``, after the deltas that came before it.
    """

    def __init__(self, provider: str, headers: Mapping[str, str]) -> None:
        self._provider = provider
        self._headers = headers
        self._sse = SseDecoder()
        self._body: bytearray | None = None
        self._started = False
        self._deltas: list[Delta] = []
        self._thoughts: dict[int, dict[str, Any]] = {}
        self._input = Usage()
        self.error: ProviderError | None = None
        self.complete = False
        """The server said that the answer is over."""

    def feed(self, chunk: bytes) -> list[Delta]:
        """The deltas that the chunk completes."""
        if not self._started:
            first = chunk.lstrip()[:1]
            self._started = bool(first)
            if first in (b"{", b"<"):
                self._body = bytearray()
        if self._body is not None:
            self._body += chunk
            return []
        for data in self._sse.feed(chunk):
            if self.error is None:
                self._take(data)
        return self._collected()

    def flush(self) -> list[Delta]:
        """What the end of the answer completes."""
        if self._body is not None:
            self._take_body(bytes(self._body))
        return self._collected()

    def _collected(self) -> list[Delta]:
        deltas, self._deltas = self._deltas, []
        return deltas

    def _take(self, data: bytes) -> None:
        try:
            event = msgspec.json.decode(data)
        except msgspec.DecodeError:
            self.error = unreadable_answer(data, self._provider, self._headers)
            return
        if not isinstance(event, dict):
            return
        match event.get("type"):
            case "message_start":
                self._report(_dict(_dict(event.get("message")).get("usage")))
            case "content_block_start":
                self._begin(_index(event), _dict(event.get("content_block")))
            case "content_block_delta":
                self._add(_index(event), _dict(event.get("delta")))
            case "content_block_stop":
                self._end(_index(event))
            case "message_delta":
                self._report(_dict(event.get("usage")))
                self._finish(_dict(event.get("delta")))
            case "message_stop":
                self.complete = True
            case "error":
                self.error = stated_error(event, self._provider, self._headers)
            case None if "error" in event:
                self.error = stated_error(event, self._provider, self._headers)

    def _begin(self, index: int, block: Mapping[str, Any]) -> None:
        match block.get("type"):
            case "tool_use":
                self._deltas.append(
                    ToolFragment(
                        index=index,
                        id=str(block.get("id", "")),
                        name=str(block.get("name", "")),
                        arguments=encode_json(given).decode()
                        if (given := block.get("input"))
                        else "",
                    )
                )
            case "thinking" | "redacted_thinking":
                self._thoughts[index] = dict(block)
                if text := block.get("thinking"):
                    self._deltas.append(ReasoningPiece(str(text)))
            case "text" if block.get("text"):
                self._deltas.append(TextPiece(str(block["text"])))

    def _add(self, index: int, delta: Mapping[str, Any]) -> None:
        match delta.get("type"):
            case "text_delta":
                self._deltas.append(TextPiece(str(delta.get("text", ""))))
            case "input_json_delta":
                text = str(delta.get("partial_json", ""))
                self._deltas.append(ToolFragment(index=index, arguments=text))
            case "thinking_delta":
                text = str(delta.get("thinking", ""))
                thought = self._thoughts.setdefault(index, {"type": "thinking", "thinking": ""})
                thought["thinking"] = str(thought.get("thinking", "")) + text
                self._deltas.append(ReasoningPiece(text))
            case "signature_delta":
                thought = self._thoughts.setdefault(index, {"type": "thinking", "thinking": ""})
                thought["signature"] = str(thought.get("signature", "")) + str(delta["signature"])

    def _end(self, index: int) -> None:
        """A thought is whole: kept for the way back, if it is signed or hidden."""
        thought = self._thoughts.pop(index, None)
        if thought and (thought.get("signature") or thought.get("type") == "redacted_thinking"):
            self._deltas.append(NativePiece(thought))

    def _report(self, wire: Mapping[str, Any]) -> None:
        """Usage comes in two parts, input first; later figures of a part replace earlier ones."""
        if not wire:
            return
        if "input_tokens" in wire:
            cached = _whole(wire.get("cache_read_input_tokens"))
            written = _whole(wire.get("cache_creation_input_tokens"))
            fresh = _whole(wire.get("input_tokens"))
            self._input = Usage(input=fresh + cached + written, cached=cached, written=written)
        output = _whole(wire.get("output_tokens"))
        self._deltas.append(UsageReport(msgspec.structs.replace(self._input, output=output)))

    def _finish(self, delta: Mapping[str, Any]) -> None:
        raw = delta.get("stop_reason")
        if not isinstance(raw, str):
            return
        self.complete = True
        reason = _FINISHES.get(raw, "unknown")
        detail = raw if reason == "unknown" or raw.startswith("model_") else ""
        self._deltas.append(FinishMark(reason, detail))

    def _take_body(self, body: bytes) -> None:
        """A whole answer in place of a stream."""
        try:
            answer = msgspec.json.decode(body)
        except msgspec.DecodeError:
            answer = None
        if isinstance(answer, dict) and "error" in answer:
            self.error = stated_error(answer, self._provider, self._headers)
        elif isinstance(answer, dict) and isinstance(answer.get("content"), list):
            for index, block in enumerate(answer["content"]):
                self._begin(index, _dict(block))
                self._end(index)
            self._report(_dict(answer.get("usage")))
            self._finish(answer)
        else:
            self.error = unreadable_answer(body, self._provider, self._headers)


def _index(event: Mapping[str, Any]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else -1


def _dict(value: Json) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _whole(value: Json) -> int:
    return int(value) if isinstance(value, int | float) else 0
