"""Answers: the bytes of a stream, or of one JSON body, to our deltas.

Lenient on purpose: a field of the wrong type is passed over, an unknown one is not looked at. Only an
error that the server states, a web page, and data that is not JSON stop a stream.
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
    ProviderError,
    ReasoningPiece,
    SseDecoder,
    TextPiece,
    ToolFragment,
    Usage,
    UsageReport,
    stated_error,
    unreadable_answer,
)

_FINISHES: Mapping[str, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
    "safety": "refusal",
    "error": "error",
}


class _Function(msgspec.Struct, gc=False):
    name: Json = None
    arguments: Json = None


class _ToolPart(msgspec.Struct, gc=False):
    index: Json = None
    id: Json = None
    function: _Function | None = None


class _Part(msgspec.Struct, gc=False):
    """A delta of a stream, or the message of a whole answer."""

    content: Json = None
    tool_calls: list[_ToolPart | None] | None = None
    reasoning_content: Json = None
    reasoning: Json = None
    reasoning_details: Json = None
    refusal: Json = None
    function_call: _Function | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Part | None = None
    message: _Part | None = None
    finish_reason: Json = None
    native_finish_reason: Json = None
    error: Json = None


class _Event(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None
    usage: Json = None
    error: Json = None
    error_type: Json = None
    error_message: Json = None
    object: Json = None
    message: Json = None
    detail: Json = None


_decode = msgspec.json.Decoder(_Event).decode


class AnswerDecoder:
    """Turns one answer into deltas; give it every chunk, then `flush` it.

    Neither raises: what stops the answer is put into ``error``, after the deltas that came before it.
    """

    def __init__(self, provider: str, headers: Mapping[str, str]) -> None:
        self._provider = provider
        self._headers = headers
        self._sse = SseDecoder()
        self._started = False
        self._body: bytearray | None = None
        self._deltas: list[Delta] = []
        self._text = ""
        self._reasoning = ""
        self._half = ""
        self._broken_text = False
        self._refused = False
        self.error: ProviderError | None = None
        self.complete = False
        """The server said that the answer is over."""

    def feed(self, chunk: bytes) -> list[Delta]:
        """The deltas that the chunk completes; neighbouring text comes as one."""
        if not self._started:
            chunk = self._start(chunk)
        if self._body is not None:
            self._body += chunk
            return []
        for data in self._sse.feed(chunk):
            if self.error is None:
                self._take(data)
        return self._collected()

    def flush(self) -> list[Delta]:
        """What the end of the answer completes.

        An event in which the stream broke off is dropped: no finish mark was sent, which says it all.
        """
        if self._body is not None:
            self._take_body(bytes(self._body))
        elif self.error is None:
            for data in self._sse.flush():
                if _is_whole(data):
                    self._take(data)
        return self._collected()

    def _start(self, chunk: bytes) -> bytes:
        """Tell a stream from a whole body by its first byte; content types are often wrong."""
        chunk = chunk.removeprefix(b"\xef\xbb\xbf")
        first = chunk.lstrip()[:1]
        self._started = bool(first)
        if first in (b"{", b"[", b"<"):
            self._body = bytearray()
        return chunk

    def _collected(self) -> list[Delta]:
        self._close_text()
        deltas, self._deltas = self._deltas, []
        return deltas

    def _close_text(self) -> None:
        """Turn the text so far into a delta, before one of another kind."""
        if self._reasoning:
            self._deltas.append(ReasoningPiece(self._reasoning))
            self._reasoning = ""
        if self._text:
            self._deltas.append(TextPiece(self._text))
            self._text = ""

    def _take(self, data: bytes) -> None:
        """One event of a stream."""
        if data.startswith(b"[DONE]"):
            self.complete = True
            return
        try:
            event = _decode(data)
        except msgspec.DecodeError:
            loose = self._decode_loosely(data)
            if loose is None:
                return
            event = loose
        if event.choices:
            self._take_choice(event.choices[0])
        elif event.usage is None and (event.message or event.detail):
            self._fail(data)
        if event.error or event.error_type or event.error_message or event.object == "error":
            self._fail(data)
        elif event.usage:
            self._report(event.usage)

    def _take_choice(self, choice: _Choice) -> None:
        part = choice.delta or choice.message
        if part is not None:
            self._take_part(part, whole=choice.delta is None)
        if choice.error is not None:
            self._fail({"error": choice.error})
        elif choice.finish_reason:
            self._finish(choice)

    def _take_body(self, body: bytes) -> None:
        """A whole answer in place of a stream."""
        try:
            event = _decode(body)
        except msgspec.DecodeError:
            event = _Event()
        self._take(body)
        if self.error is None and not event.choices:
            self.error = unreadable_answer(body, self._provider, self._headers)
        elif self.error is None and not self.complete:
            self._finish(_Choice(finish_reason="unknown"))

    def _decode_loosely(self, data: bytes) -> _Event | None:
        """For half a surrogate pair in an escape, which only the standard library reads."""
        import json

        try:
            event = msgspec.convert(json.loads(data), _Event)
        except (ValueError, msgspec.ValidationError):
            if data.strip():
                self.error = unreadable_answer(data, self._provider, self._headers)
            return None
        self._broken_text = True
        return event

    def _take_part(self, part: _Part, *, whole: bool) -> None:
        content = part.content
        if content:
            self._add_text(content if type(content) is str else _text_of(content, "text"))
        if part.reasoning_content or part.reasoning or part.reasoning_details:
            self._add_reasoning(_reasoning_of(part))
        elif content and type(content) is list:
            self._add_reasoning(_text_of(content, "thinking"))
        if part.refusal and isinstance(part.refusal, str):
            self._refused = True
            self._add_text(part.refusal)
        if part.tool_calls:
            self._close_text()
            self._deltas += [_fragment(one, whole=whole) for one in part.tool_calls if one]
        elif part.function_call:
            self._close_text()
            self._deltas.append(_fragment(_ToolPart(0, None, part.function_call), whole=whole))

    def _add_text(self, text: str) -> None:
        if self._broken_text:
            text = self._mended(text)
        if self._reasoning and text:
            self._close_text()
        self._text += text

    def _add_reasoning(self, text: str) -> None:
        if self._text and text:
            self._close_text()
        self._reasoning += _without_halves(text) if self._broken_text else text

    def _mended(self, text: str) -> str:
        """Join the halves of a character that two deltas share, keeping the first half back."""
        text, self._half = self._half + text, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return _without_halves(text)

    def _finish(self, choice: _Choice) -> None:
        """Note the finish once; aggregators repeat it with the usage."""
        if self.complete:
            return
        self.complete = True
        self._close_text()
        raw = choice.finish_reason if isinstance(choice.finish_reason, str) else ""
        reason = _FINISHES.get(raw.lower(), "unknown")
        if self._refused and reason == "stop":
            reason = "refusal"
        native = choice.native_finish_reason
        detail = native if isinstance(native, str) and native != raw else ""
        self._deltas.append(FinishMark(reason, detail or (raw if reason == "unknown" else "")))

    def _report(self, usage: Json) -> None:
        if isinstance(usage, dict):
            self._close_text()
            self._deltas.append(UsageReport(usage_of(usage)))

    def _fail(self, said: bytes | Mapping[str, Json]) -> None:
        value = _object(said) if isinstance(said, bytes) else said
        self.error = stated_error(value, self._provider, self._headers)


def usage_of(wire: Mapping[str, Any]) -> Usage:
    """Tokens from a ``usage`` object.

    Cached tokens are ``prompt_tokens_details.cached_tokens`` (OpenAI), ``prompt_cache_hit_tokens``
    (DeepSeek) or ``cached_tokens`` (Moonshot); ``cost`` is OpenRouter's, in US dollars.
    """
    prompt, completion = wire.get("prompt_tokens_details"), wire.get("completion_tokens_details")
    cached = _whole(prompt.get("cached_tokens")) if isinstance(prompt, dict) else 0
    reasoning = _whole(completion.get("reasoning_tokens")) if isinstance(completion, dict) else 0
    cost = wire.get("cost")
    return Usage(
        input=_whole(wire.get("prompt_tokens")),
        output=_whole(wire.get("completion_tokens")),
        cached=cached or _whole(wire.get("prompt_cache_hit_tokens") or wire.get("cached_tokens")),
        reasoning=reasoning,
        cost=float(cost) if isinstance(cost, int | float) else None,
    )


def _whole(value: Json) -> int:
    return int(value) if isinstance(value, int | float) else 0


def _fragment(part: _ToolPart, *, whole: bool) -> ToolFragment:
    function = part.function or _Function()
    name, arguments = function.name, function.arguments
    if arguments is None:
        arguments = ""
    elif not isinstance(arguments, str):
        arguments, whole = msgspec.json.encode(arguments).decode(), True
    if not arguments.isascii():
        arguments = _without_halves(arguments)
    return ToolFragment(
        index=_index(part.index),
        id=str(part.id) if isinstance(part.id, str | int) else "",
        name=name if isinstance(name, str) else "",
        arguments=arguments,
        whole=whole,
    )


def _index(value: Json) -> int:
    if isinstance(value, int | float):
        return int(value)
    return int(value) if isinstance(value, str) and value.isdigit() else -1


def _reasoning_of(part: _Part) -> str:
    """Servers send the same text under several names, so the first that has any counts."""
    for value in (part.reasoning_content, part.reasoning):
        if isinstance(value, str) and value:
            return value
    if not isinstance(part.reasoning_details, list):
        return ""
    return "".join(
        text
        for detail in part.reasoning_details
        if isinstance(detail, dict)
        and isinstance(text := detail.get("text") or detail.get("summary"), str)
    )


def _text_of(content: Json, kind: str) -> str:
    """The text of the parts of one kind; thinking parts hold parts of their own (Mistral)."""
    if not isinstance(content, list):
        return ""
    return "".join(_part_text(part, kind) for part in content)


def _part_text(part: Json, kind: str) -> str:
    if isinstance(part, str):
        return part if kind == "text" else ""
    if not isinstance(part, dict) or part.get("type", "text") != kind:
        return ""
    inner = part.get(kind)
    return inner if isinstance(inner, str) else _text_of(inner, "text")


def _without_halves(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _object(data: bytes) -> Mapping[str, Json]:
    try:
        return msgspec.json.decode(data, type=dict[str, Json])
    except msgspec.DecodeError:
        return {"message": data.decode("utf-8", "replace")}


def _is_whole(data: bytes) -> bool:
    """Whether an event that lacks its blank line is all there."""
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except msgspec.DecodeError:
        return data.startswith(b"[DONE]")
    return True
