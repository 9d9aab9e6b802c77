"""Requests: our values to the bytes of a chat-completions body.

``messages`` stand last and every message is encoded once, so a request begins with the one before
it, byte for byte, up to the closing brackets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_

from hermes_plugins import (
    ImagePart,
    Json,
    Message,
    ModelRequest,
    NativePart,
    TextPart,
    ToolCall,
    ToolSpec,
    argument_object,
    encode_json,
)


class BodyEncoder:
    """Encodes the requests of one session, remembering the messages and tools of the last one."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._fragments: list[bytes] = []
        self._system = ""
        self._system_fragment = b""
        self._tools: Sequence[ToolSpec] = ()
        self._tools_fragment = b""
        self._reasoning_field = ""

    def encode(self, request: ModelRequest) -> bytes:
        """The body; a message counts as known when it is the same object at the same place."""
        self._remember(request)
        head = self._head(request)
        messages = self._fragments
        if self._system_fragment:
            messages = [self._system_fragment, *messages]
        return b"".join((head, b'"messages":[', b",".join(messages), b"]}"))

    def _remember(self, request: ModelRequest) -> None:
        if request.tools is not self._tools:
            self._tools = request.tools
            tools = [_tool(spec) for spec in request.tools]
            self._tools_fragment = b'"tools":' + encode_json(tools) + b"," if tools else b""
        if request.system != self._system:
            self._system = request.system
            system = {"role": "system", "content": request.system}
            self._system_fragment = encode_json(system) if request.system else b""
        if request.reasoning_field != self._reasoning_field:
            self._reasoning_field = request.reasoning_field
            self._messages, self._fragments = [], []
        known = self._known(request.messages)
        del self._messages[known:], self._fragments[known:]
        for message in request.messages[known:]:
            self._fragments.append(encode_json(_message(message, request.reasoning_field)))
            self._messages.append(message)

    def _known(self, messages: Sequence[Message]) -> int:
        """How many leading messages are those of the last request."""
        size = len(self._messages)
        if size <= len(messages) and all(map(is_, self._messages, messages)):
            return size
        for number, (old, new) in enumerate(zip(self._messages, messages, strict=False)):
            if old is not new:
                return number
        return min(size, len(messages))

    def _head(self, request: ModelRequest) -> bytes:
        """Everything before the messages, from the opening brace to a comma."""
        fields: dict[str, Json] = {
            "model": request.model,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.max_output and "max_completion_tokens" not in request.extras:
            fields["max_tokens"] = request.max_output
        fields.update(request.extras)
        kept = {name: value for name, value in fields.items() if value is not None}
        return encode_json(kept)[:-1] + b"," + self._tools_fragment


def _tool(spec: ToolSpec) -> Mapping[str, Json]:
    function = {
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
    }
    return {"type": "function", "function": function}


def _message(message: Message, reasoning_field: str) -> Mapping[str, Json]:
    if message.role == "tool":
        text = "\n\n".join((_plain(message), *message.added))
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": text}
    if message.role != "assistant":
        return {"role": message.role, "content": _content(message)}
    wire: dict[str, Json] = {"role": "assistant", "content": message.sent_text}
    if message.reasoning and reasoning_field:
        wire[reasoning_field] = message.reasoning
    if message.tool_calls:
        wire["content"] = message.sent_text or None
        wire["tool_calls"] = [_call(call) for call in message.tool_calls]
    return wire


def _call(call: ToolCall) -> Mapping[str, Json]:
    function = {"name": call.name, "arguments": argument_object(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _content(message: Message) -> Json:
    """The text, or a list of parts where there are images."""
    if not any(isinstance(part, ImagePart) for part in message.parts):
        return "\n\n".join((_plain(message), *message.added)) if message.added else _plain(message)
    parts: list[Json] = []
    for part in message.parts:
        if isinstance(part, ImagePart):
            url = part.url or f"data:{part.media_type};base64,{part.data}"
            parts.append({"type": "image_url", "image_url": {"url": url}})
        elif isinstance(part, TextPart):
            parts.append({"type": "text", "text": part.text})
        elif not isinstance(part, NativePart):
            parts.append({"type": "text", "text": _left_out(part.kind)})
    if message.added:
        parts.append({"type": "text", "text": "\n\n".join(message.added)})
    return parts


def _plain(message: Message) -> str:
    """The text, with a note for each part that is none: tool results can hold text only."""
    texts = []
    for part in message.parts:
        if isinstance(part, TextPart):
            texts.append(part.text)
        elif not isinstance(part, NativePart):
            texts.append(_left_out("image" if isinstance(part, ImagePart) else part.kind))
    return "".join(texts)


def _left_out(kind: str) -> str:
    return f"[{kind} left out: it cannot be sent to this model here]"
