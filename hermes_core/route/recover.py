"""Requests that a provider refuses for what is in them: what is left out from then on.

Each change is made once a session and stays, so that later requests begin like the one that was
taken. Nothing is changed in what is stored.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hermes_core.route.classify import Failure
from hermes_plugins._dialects import ModelRequest, ToolSpec
from hermes_plugins._messages import ImagePart, Json, Message, Part, TextPart

LEFT_OUT = "[image left out: this model does not take it]"
_PATTERNS = frozenset({"pattern", "format"})


class Changes:
    """What requests on one route go without."""

    def __init__(self) -> None:
        self._learnt: set[str] = set()
        self._max_output = 0
        self._tools: tuple[Sequence[ToolSpec], tuple[ToolSpec, ...]] = ((), ())
        self._plain: dict[int, tuple[Message, Message]] = {}

    def learn(self, failure: Failure, request: ModelRequest) -> bool:
        """Note what a failure asks for; True where the next request differs from the last one."""
        reason = failure.reason
        if reason == "output_too_large":
            limit = failure.output_limit or request.max_output // 2
            if limit and limit != self._max_output and (limit < (self._max_output or limit + 1)):
                self._max_output = limit
                return True
            return False
        if reason not in _MAY_HELP or reason in self._learnt or not _MAY_HELP[reason](request):
            return False
        self._learnt.add(reason)
        return True

    def apply(self, request: ModelRequest) -> ModelRequest:
        """The request without what was refused; messages that stay as they are stay the same objects."""
        if not (self._learnt or self._max_output):
            return request
        changed: dict[str, object] = {}
        if self._max_output:
            changed["max_output"] = self._max_output
        if self._learnt & {"thinking_signature", "invalid_encrypted_content"}:
            changed["native_of"] = ""
        if "grammar_pattern" in self._learnt:
            changed["tools"] = self._without_patterns(request.tools)
        roles = set()
        if "multimodal_tool_content_unsupported" in self._learnt:
            roles.add("tool")
        if "image_too_large" in self._learnt:
            roles |= {"tool", "user"}
        if roles:
            changed["messages"] = [self._without_images(one, roles) for one in request.messages]
        return msgspec.structs.replace(request, **changed)

    def _without_patterns(self, tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
        if self._tools[0] is not tools:
            plain = tuple(
                ToolSpec(
                    name=one.name,
                    description=one.description,
                    parameters=_schema(one.parameters),
                )
                for one in tools
            )
            self._tools = (tools, plain)
        return self._tools[1]

    def _without_images(self, message: Message, roles: set[str]) -> Message:
        if message.role not in roles or not _has_image(message):
            return message
        kept = self._plain.get(id(message))
        if kept is None or kept[0] is not message:
            parts: list[Part] = [
                TextPart(LEFT_OUT) if isinstance(part, ImagePart) else part
                for part in message.parts
            ]
            kept = (message, msgspec.structs.replace(message, parts=tuple(parts)))
            self._plain[id(message)] = kept
        return kept[1]


def _has_image(message: Message) -> bool:
    return any(isinstance(part, ImagePart) for part in message.parts)


def _schema(parameters: dict[str, Json]) -> dict[str, Json]:
    plain = _plain(parameters)
    return plain if isinstance(plain, dict) else {}


def _plain(value: Json) -> Json:
    """A schema without patterns and formats; a property of that name stays, for it is no text."""
    if isinstance(value, dict):
        return {
            name: _plain(below)
            for name, below in value.items()
            if not (name in _PATTERNS and isinstance(below, str))
        }
    return [_plain(one) for one in value] if isinstance(value, list) else value


_MAY_HELP = {
    "thinking_signature": lambda request: bool(request.native_of),
    "invalid_encrypted_content": lambda request: bool(request.native_of),
    "grammar_pattern": lambda request: bool(request.tools),
    "multimodal_tool_content_unsupported": lambda request: any(
        message.role == "tool" and _has_image(message) for message in request.messages
    ),
    "image_too_large": lambda request: any(map(_has_image, request.messages)),
}
