"""Requests: our values to the bytes of a Messages body.

``messages`` stand last. A message is encoded once, but for its mark: the ends of the system prompt and
of the last three messages carry ``cache_control``, which is no part of what the vendor's cache
compares (at most four marks a request; Anthropic's page on prompt caching).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from hermes_plugins import (
    ImagePart,
    Json,
    Message,
    ModelRequest,
    NativePart,
    TextPart,
    ToolSpec,
    argument_object,
    encode_json,
)

DIALECT = "anthropic_messages"
DEFAULT_OUTPUT = 8192
"""Tokens of an answer where neither the model's facts nor the caller name a limit."""
MARKED = 3
"""Messages at the end that are marked for the cache."""


class BodyEncoder:
    """Encodes the requests of one session, remembering the blocks of every message."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Message, str, tuple[bytes, ...]]] = {}
        self._tools: Sequence[ToolSpec] = ()
        self._tools_fragment = b""

    def encode(self, request: ModelRequest) -> bytes:
        """The body."""
        if request.tools is not self._tools:
            self._tools = request.tools
            tools = [_tool(spec) for spec in request.tools]
            self._tools_fragment = b'"tools":' + encode_json(tools) + b"," if tools else b""
        extras = dict(request.extras)
        mark = _mark(str(extras.pop("cache_ttl", "") or ""))
        turns = list(self._turns(request))
        marked = len(turns) - MARKED
        messages = [
            _turn(role, blocks, mark if number >= marked else b"")
            for number, (role, blocks) in enumerate(turns)
        ]
        head = self._head(request, extras, mark)
        return b"".join((head, b'"messages":[', b",".join(messages), b"]}"))

    def _turns(self, request: ModelRequest) -> Iterator[tuple[str, Sequence[bytes]]]:
        """Role and blocks of each message of the wire: the results of one answer are one."""
        self._forget(request.messages)
        results: list[bytes] = []
        for message in request.messages:
            blocks = self._blocks(message, request.native_of)
            if message.role == "tool":
                results += blocks
                continue
            if results:
                yield "user", results
                results = []
            if blocks:
                yield ("assistant" if message.role == "assistant" else "user"), blocks
        if results:
            yield "user", results

    def _blocks(self, message: Message, native_of: str) -> tuple[bytes, ...]:
        kept = self._known.get(id(message))
        if kept is None or kept[0] is not message or kept[1] != native_of:
            blocks = tuple(map(encode_json, _blocks(message, native_of)))
            kept = self._known[id(message)] = (message, native_of, blocks)
        return kept[2]

    def _forget(self, messages: Sequence[Message]) -> None:
        """Let go of messages that a compression took out of the history."""
        if len(self._known) > 2 * len(messages) + 8:
            self._known.clear()

    def _head(self, request: ModelRequest, extras: Mapping[str, Json], mark: bytes) -> bytes:
        """Everything before the messages, from the opening brace to a comma."""
        fields: dict[str, Json] = {
            "model": request.model,
            "max_tokens": request.max_output or DEFAULT_OUTPUT,
            "stream": True,
            **extras,
        }
        kept = {name: value for name, value in fields.items() if value is not None}
        system = b""
        if request.system:
            block = encode_json({"type": "text", "text": request.system})
            system = b'"system":[' + _with_mark(block, mark) + b"],"
        return encode_json(kept)[:-1] + b"," + self._tools_fragment + system


def _mark(ttl: str) -> bytes:
    cache: dict[str, Json] = {"type": "ephemeral"}
    if ttl and ttl != "5m":
        cache["ttl"] = ttl
    return b',"cache_control":' + encode_json(cache)


def _with_mark(block: bytes, mark: bytes) -> bytes:
    return block[:-1] + mark + b"}"


def _turn(role: str, blocks: Sequence[bytes], mark: bytes) -> bytes:
    *before, last = blocks
    if mark and not last.startswith((b'{"type":"thinking"', b'{"type":"redacted_thinking"')):
        last = _with_mark(last, mark)  # thoughts cannot be marked
    return b'{"role":"%b","content":[%b]}' % (role.encode(), b",".join((*before, last)))


def _tool(spec: ToolSpec) -> Mapping[str, Json]:
    return {"name": spec.name, "description": spec.description, "input_schema": spec.parameters}


def _blocks(message: Message, native_of: str) -> Iterator[Mapping[str, Json]]:
    """The content blocks of one message; empty texts are refused, so there are none."""
    if message.role == "tool":
        yield _result(message)
        return
    for part in message.parts:
        if isinstance(part, NativePart):
            own = part.dialect == DIALECT and part.provider == native_of
            if own and native_of and message.role == "assistant" and isinstance(part.data, dict):
                yield part.data
        else:
            yield from _content(part)
    if message.added:
        yield {"type": "text", "text": "\n\n".join(message.added)}
    for call in message.tool_calls:
        yield {
            "type": "tool_use",
            "id": call.id,
            "name": call.name,
            "input": _as_written(argument_object(call.arguments)),
        }


def _content(part: object) -> Iterator[Mapping[str, Json]]:
    if isinstance(part, TextPart):
        if part.text.strip():
            yield {"type": "text", "text": part.text}
    elif isinstance(part, ImagePart):
        source: dict[str, Json] = {"type": "url", "url": part.url}
        if part.data:
            source = {"type": "base64", "media_type": part.media_type, "data": part.data}
        yield {"type": "image", "source": source}
    elif not isinstance(part, NativePart):
        kind = getattr(part, "kind", "part")
        yield {"type": "text", "text": f"[{kind} left out: it cannot be sent to this model here]"}


def _result(message: Message) -> Mapping[str, Json]:
    content = [block for part in message.parts for block in _content(part)]
    if message.added:
        content.append({"type": "text", "text": "\n\n".join(message.added)})
    result: dict[str, Json] = {
        "type": "tool_result",
        "tool_use_id": message.tool_call_id,
        "content": content or "(empty)",
    }
    if message.status != "ok":
        result["is_error"] = True
    return result


def _as_written(text: str) -> Json:
    """Arguments as the model wrote them, whitespace and order included."""
    return msgspec.Raw(text.encode("utf-8", "replace"))
