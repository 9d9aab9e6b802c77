"""Replacing words by stand-ins and back, in everything of a message that is sent.

A stand-in is ``[[masked-N]]``, N the word's place in the list: it depends on nothing else, so a request
comes out the same every time. Arguments of tool calls are JSON, so the words are escaped there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from hermes_plugins import Message, ModelRequest, TextPart, ToolCall

_STAND_IN = re.compile(r"\[\[masked-(\d{1,6})\]\]")

_Change = Callable[[str], str]


def mask(request: ModelRequest, words: Sequence[str]) -> ModelRequest:
    """The request with stand-ins in the system prompt and in every message."""
    if not any(words):
        return request
    hide, hide_json = _hider(words), _hider([_in_json(word) for word in words])
    return msgspec.structs.replace(
        request,
        system=hide(request.system),
        messages=[_changed(one, hide, hide_json) for one in request.messages],
    )


def unmask(message: Message, words: Sequence[str]) -> Message:
    """The answer with the words themselves."""
    if not any(words):
        return message
    escaped = [_in_json(word) for word in words]
    return _changed(message, _shower(words), _shower(escaped))


def _changed(message: Message, change: _Change, change_json: _Change) -> Message:
    return msgspec.structs.replace(
        message,
        parts=tuple(
            TextPart(change(part.text)) if isinstance(part, TextPart) else part
            for part in message.parts
        ),
        added=tuple(map(change, message.added)),
        reasoning=change(message.reasoning),
        tool_calls=tuple(_changed_call(call, change_json) for call in message.tool_calls),
    )


def _changed_call(call: ToolCall, change: _Change) -> ToolCall:
    return msgspec.structs.replace(call, arguments=change(call.arguments))


def _hider(words: Sequence[str]) -> _Change:
    """Longer words first, so that a part of one does not hide the whole."""
    places = {word.casefold(): place for place, word in reversed(list(enumerate(words, 1))) if word}
    longest = sorted(places, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest)), re.IGNORECASE)

    def stand_in(found: re.Match[str]) -> str:
        place = places.get(found[0].casefold())
        return found[0] if place is None else f"[[masked-{place}]]"

    return lambda text: pattern.sub(stand_in, text)


def _shower(words: Sequence[str]) -> _Change:
    def word(found: re.Match[str]) -> str:
        place = int(found[1])
        return words[place - 1] if 0 < place <= len(words) else found[0]

    return lambda text: _STAND_IN.sub(word, text)


def _in_json(word: str) -> str:
    """A word as it stands inside a JSON string."""
    return msgspec.json.encode(word).decode()[1:-1]
