"""The form of requests and answers: JSON one way, server-sent events the other.

An event is ``{"say": TEXT}``, ``{"think": TEXT}``, ``{"ask": [INDEX, ID, NAME, ARGUMENTS]}``,
``{"used": [IN, OUT]}``, ``{"end": "stop" | "tools" | "length"}`` or ``{"wrong": TEXT}``.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from hermes_plugins import (
    Delta,
    Finish,
    FinishMark,
    HttpResponse,
    ImagePart,
    Message,
    ModelRequest,
    ProviderError,
    ReasoningPiece,
    SseDecoder,
    TextPiece,
    ToolFragment,
    Usage,
    UsageReport,
)

_ENDS: dict[str, Finish] = {"stop": "stop", "tools": "tool_calls", "length": "length"}


def encode(request: ModelRequest) -> bytes:
    """What stays the same first, ``messages`` last: request n+1 begins with request n."""
    body: dict[str, object] = {"model": request.model, "stream": True, "rules": request.system}
    if request.tools:
        body["tools"] = [[one.name, one.description, one.parameters] for one in request.tools]
    if request.max_output:
        body["longest"] = request.max_output
    body = {**body, **request.extras}
    kept = {name: value for name, value in body.items() if value is not None}
    kept["messages"] = [_message(message) for message in request.messages]
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def _message(message: Message) -> dict[str, object]:
    wire: dict[str, object] = {"from": message.role, "text": message.sent_text}
    if message.tool_calls:
        wire["asks"] = [[call.id, call.name, call.arguments] for call in message.tool_calls]
    if message.tool_call_id:
        wire["answers"] = message.tool_call_id
    images = [part for part in message.parts if isinstance(part, ImagePart)]
    if images:
        wire["images"] = [image.url or [image.media_type, image.data] for image in images]
    return wire


async def deltas(response: HttpResponse) -> AsyncIterator[Delta]:
    """The answer as it arrives.

    Raises:
        ProviderError: an error inside the stream, or a broken connection.
    """
    decoder = SseDecoder()
    async for chunk in response.chunks():
        for data in decoder.feed(chunk):
            if data != b"[DONE]":
                yield _delta(json.loads(data))


def _delta(event: dict[str, object]) -> Delta:
    match event:
        case {"say": str(text)}:
            return TextPiece(text)
        case {"think": str(text)}:
            return ReasoningPiece(text)
        case {"ask": [int(index), str(ident), str(name), str(arguments)]}:
            return ToolFragment(index=index, id=ident, name=name, arguments=arguments)
        case {"used": [int(tokens_in), int(tokens_out)]}:
            return UsageReport(Usage(input=tokens_in, output=tokens_out))
        case {"end": str(reason)}:
            return FinishMark(_ENDS.get(reason, "unknown"), detail=reason)
        case {"wrong": str(text)}:
            raise ProviderError(text, status=200, body=text, in_stream=True)
    raise ProviderError("an event that cannot be read", body=str(event), in_stream=True)


def refusal(response: HttpResponse, body: bytes) -> ProviderError:
    """The error of an answer with another status than 200, in the server's words."""
    text = body.decode("utf-8", "replace")
    return ProviderError(
        text[:300], status=response.status, headers=dict(response.headers), body=text
    )
