"""The stand-in itself: a dialect that answers out of the request, without a connection.

It reads what the person wrote last and the tool results since then. While steps are left and all went
well it asks for the next tools; then it says what came of them. The same request always gets the same
answer.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator, Sequence

import msgspec

from hermes_plugins import (
    Delta,
    Endpoint,
    FinishMark,
    Message,
    ModelRequest,
    TextPiece,
    ToolFragment,
    Usage,
    UsageReport,
)

from . import answers
from .requests import Call, Step, understand

_CHARS_PER_TOKEN = 4
"""A rough rule for English text; nothing is billed by it."""


class OfflineDialect:
    """Implements `Dialect`; the endpoint is not used."""

    path = ""

    async def stream(self, request: ModelRequest, endpoint: Endpoint) -> AsyncIterator[Delta]:
        """Yield an answer line by line, or tool calls in one piece each."""
        asked, since = _last_request(request.messages)
        steps = understand(asked)
        calls = _next_calls(steps, since, {tool.name for tool in request.tools})
        said = ""
        if calls:
            for fragment in _fragments(calls, asked, len(request.messages)):
                said += fragment.arguments
                yield fragment
        else:
            said = answers.answer(request, steps=steps, since=since)
            for line in said.splitlines(keepends=True):
                yield TextPiece(line)
        yield UsageReport(_usage(request, said))
        yield FinishMark("tool_calls" if calls else "stop")

    def encode(self, request: ModelRequest) -> bytes:
        """What a server would be sent, messages last."""
        return msgspec.json.encode(
            {
                "model": request.model,
                "system": request.system,
                "tools": request.tools,
                "messages": request.messages,
            }
        )


def _last_request(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """What the person wrote last, and what happened since."""
    for index in reversed(range(len(messages))):
        if messages[index].role == "user":
            return messages[index].text, messages[index + 1 :]
    return "", messages


def _next_calls(
    steps: Sequence[Step], since: Sequence[Message], tools: set[str]
) -> tuple[Call, ...]:
    """The calls of the first step not done yet; none when one failed or a tool is not there."""
    if any(message.role == "tool" and message.status != "ok" for message in since):
        return ()
    left = answers.left_to_do(steps, since)
    calls = left[0].calls if left else ()
    return calls if all(call.tool in tools for call in calls) else ()


def _fragments(calls: Sequence[Call], asked: str, position: int) -> Iterator[ToolFragment]:
    # An id says which call it is, again and again the same, and differs through a session.
    mark = f"{zlib.crc32(asked.encode()):08x}_{position}"
    for index, call in enumerate(calls):
        yield ToolFragment(
            index=index,
            id=f"offline_{mark}_{index}",
            name=call.tool,
            arguments=msgspec.json.encode(call.arguments).decode(),
            whole=True,
        )


def _usage(request: ModelRequest, said: str) -> Usage:
    read = len(request.system) + sum(len(message.sent_text) for message in request.messages)
    return Usage(input=read // _CHARS_PER_TOKEN, output=len(said) // _CHARS_PER_TOKEN, cost=0.0)
