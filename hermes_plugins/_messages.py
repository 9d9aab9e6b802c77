"""Messages: what a session is made of, in no vendor's format.

A `Message` is frozen and is what the store keeps. What the person wrote stands in ``parts``; what
was added for the model (recall, nudges, the clock) stands apart in ``added``: both are sent, only
``parts`` is shown, searched and titled. A dialect translates at the edge; wire dicts do not travel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
FailureKind: TypeAlias = Literal["", "transient", "permanent"]
ResultStatus: TypeAlias = Literal["ok", "failed", "blocked", "cancelled", "interrupted"]
Json: TypeAlias = object
"""Any JSON value; msgspec has no recursive alias, so the type checker sees ``object``."""


class TextPart(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """A run of text."""

    text: str


class ImagePart(msgspec.Struct, frozen=True, tag_field="type", tag="image"):
    """An image: base64 ``data`` of ``media_type``, or a ``url``."""

    media_type: str
    data: str = ""
    url: str = ""


class NativePart(msgspec.Struct, frozen=True, tag_field="type", tag="native", omit_defaults=True):
    """Something that a vendor wants back as it was: a signed thought, encrypted reasoning.

    Only the dialect and provider that made it ever send it; no person sees it. ``call`` is the id of
    the tool call that it belongs to, "" where it belongs to the answer.
    """

    dialect: str
    provider: str
    data: Json
    call: str = ""


class UnknownPart(msgspec.Struct, frozen=True, tag_field="type", tag="unknown"):
    """A part that a newer version wrote; ``raw`` keeps it for the way back."""

    kind: str
    raw: dict[str, Json] = {}


Part: TypeAlias = TextPart | ImagePart | NativePart | UnknownPart


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call the model asked for; ``arguments`` is the JSON text as the model sent it."""

    id: str
    name: str
    arguments: str


class Message(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="v", tag=1
):  # the version is a tag because defaults are left out of what is written
    """One entry of a session.

    ``status`` of an assistant message is ``ok`` or ``interrupted`` (a partial answer that was kept);
    of a tool message it is how the call ended. ``meta`` holds small facts that are not sent to the
    model (finish reason, timings).
    """

    role: Role
    parts: tuple[Part, ...] = ()
    added: tuple[str, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    tool_name: str = ""
    reasoning: str = ""
    status: ResultStatus = "ok"
    meta: dict[str, Json] = {}

    @property
    def text(self) -> str:
        """What a person reads: the text parts joined."""
        parts = self.parts
        if len(parts) == 1 and isinstance(parts[0], TextPart):
            return parts[0].text
        return "".join(part.text for part in parts if isinstance(part, TextPart))

    @property
    def sent_text(self) -> str:
        """What the model reads: the text and what was added to it."""
        if not self.added:
            return self.text
        return "\n\n".join((self.text, *self.added))


def user_message(text: str, *, added: tuple[str, ...] = ()) -> Message:
    """A message a person wrote."""
    return Message(role="user", parts=(TextPart(text),), added=added)


def assistant_message(text: str, *, tool_calls: tuple[ToolCall, ...] = ()) -> Message:
    """An answer of the model."""
    return Message(role="assistant", parts=(TextPart(text),) if text else (), tool_calls=tool_calls)


def tool_message(call: ToolCall, text: str, *, status: ResultStatus = "ok") -> Message:
    """The result of one tool call."""
    return Message(
        role="tool",
        parts=(TextPart(text),),
        tool_call_id=call.id,
        tool_name=call.name,
        status=status,
    )


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Message)
_KNOWN_PARTS = frozenset({"text", "image", "native", "unknown"})


def encode_message(message: Message) -> bytes:
    """The stored form: JSON with ``"v"``, defaults left out."""
    return _encoder.encode(message)


def decode_message(data: bytes | str) -> Message:
    """Read the stored form; parts of kinds not known here become `UnknownPart`.

    Raises:
        msgspec.ValidationError: the data is not a message.
    """
    try:
        return _decoder.decode(data)
    except msgspec.ValidationError:
        raw = msgspec.json.decode(data)
        if not isinstance(raw, dict) or not isinstance(raw.get("parts"), list):
            raise
        raw["parts"] = [_known_or_wrapped(part) for part in raw["parts"]]
        return msgspec.convert(raw, Message)


def _known_or_wrapped(part: Mapping[str, Json]) -> Mapping[str, Json]:
    kind = str(part.get("type", ""))
    if kind in _KNOWN_PARTS:
        return part
    return {"type": "unknown", "kind": kind, "raw": dict(part)}


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens of one or more model calls; ``cost`` in US dollars, None where nobody told it.

    ``input`` includes what was read from the provider's cache and written to it; ``cached`` and
    ``written`` say how much that was.
    """

    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0
    cost: float | None = None
    written: int = 0

    def __add__(self, other: Usage) -> Usage:
        cost = self.cost if other.cost is None else (self.cost or 0.0) + other.cost
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cached=self.cached + other.cached,
            reasoning=self.reasoning + other.reasoning,
            cost=cost,
            written=self.written + other.written,
        )
