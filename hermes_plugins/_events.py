"""What a run tells, in the order in which it happens.

Every event carries ``seq`` (per run, from 1), ``time`` (seconds since the epoch) and the ids of its
session and turn, so a log, a replay or an exporter needs nothing else. `TextDelta` is provisional;
`MessageDone` is what is stored. On the wire (``hermes chat --json``) an event is one JSON object a
line with its ``type`` and ``"v": 1``.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from hermes_plugins._messages import Json, Message, ResultStatus, Usage

Outcome: TypeAlias = Literal[
    "completed", "interrupted", "failed", "budget", "guardrail", "incomplete", "refused"
]


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=False):
    """What all events have in common."""

    seq: int = 0
    time: float = 0.0
    session: str = ""
    turn: str = ""
    v: int = 1


class TurnStarted(Event, frozen=True, kw_only=True, tag="turn_started"):
    """A turn begins; ``message`` is what will be stored for the person."""

    message: Message
    model: str


class RequestStarted(Event, frozen=True, kw_only=True, tag="request_started"):
    """A model call begins; ``number`` counts the calls of this turn from 1."""

    number: int


class TextDelta(Event, frozen=True, kw_only=True, tag="text_delta"):
    """More text of the answer. Neighbouring deltas may arrive merged."""

    text: str


class ReasoningDelta(Event, frozen=True, kw_only=True, tag="reasoning_delta"):
    """More of the model's reasoning, where the provider shows it."""

    text: str


class MessageDone(Event, frozen=True, kw_only=True, tag="message_done"):
    """A message was stored; ``position`` is its place in the session, from 1."""

    message: Message
    position: int


class ToolStarted(Event, frozen=True, kw_only=True, tag="tool_started"):
    """A tool call passed the gate and runs now."""

    call: str
    tool: str
    label: str
    arguments: dict[str, Json] = {}


class ToolProgress(Event, frozen=True, kw_only=True, tag="tool_progress"):
    """A running tool tells how far it is."""

    call: str
    text: str


class ToolDone(Event, frozen=True, kw_only=True, tag="tool_done"):
    """A tool call ended; also for calls that were blocked or cancelled. ``seconds`` is wall time."""

    call: str
    tool: str
    status: ResultStatus
    summary: str
    seconds: float


class ApprovalAsked(Event, frozen=True, kw_only=True, tag="approval_asked"):
    """The gate wants a person's word on ``call``; the face's approver answers."""

    call: str
    tool: str
    reason: str
    shown: str


class ApprovalDone(Event, frozen=True, kw_only=True, tag="approval_done"):
    """How the question ended."""

    call: str
    answer: str
    by: str


class Retrying(Event, frozen=True, kw_only=True, tag="retrying"):
    """A model call failed and is tried again after ``delay`` seconds."""

    reason: str
    detail: str
    attempt: int
    delay: float


class Steered(Event, frozen=True, kw_only=True, tag="steered"):
    """Text given during the turn has reached the model's next request."""

    text: str


class Notice(Event, frozen=True, kw_only=True, tag="notice"):
    """A line for the person that belongs to no answer."""

    text: str
    level: Literal["info", "warning", "error"] = "info"


class TurnEnded(Event, frozen=True, kw_only=True, tag="turn_ended"):
    """The last event of a turn, exactly once.

    ``reason`` is one sentence where the outcome is not ``completed``; ``hint`` is what to do next.
    ``model_calls`` counts the calls that were made, not how often each was tried again. ``unsent`` is
    steering that came too late for this turn.
    """

    outcome: Outcome
    text: str = ""
    reason: str = ""
    hint: str = ""
    model_calls: int = 0
    tool_calls: int = 0
    usage: Usage = Usage()
    model: str = ""
    seconds: float = 0.0
    unsent: tuple[str, ...] = ()


class UnknownEvent(Event, frozen=True, kw_only=True, tag="unknown"):
    """An event of a kind that a newer version sends."""

    kind: str = ""


AnyEvent: TypeAlias = (
    TurnStarted
    | RequestStarted
    | TextDelta
    | ReasoningDelta
    | MessageDone
    | ToolStarted
    | ToolProgress
    | ToolDone
    | ApprovalAsked
    | ApprovalDone
    | Retrying
    | Steered
    | Notice
    | TurnEnded
    | UnknownEvent
)

_encoder = msgspec.json.Encoder()


def encode_event(event: Event) -> bytes:
    """One line of JSON, without the line's end."""
    return _encoder.encode(event)


def decode_event(data: bytes | str) -> AnyEvent:
    """Read an event; a kind not known here becomes `UnknownEvent`.

    Raises:
        msgspec.ValidationError: the data is not an event at all.
    """
    try:
        return msgspec.json.decode(data, type=AnyEvent)
    except msgspec.ValidationError:
        raw = msgspec.json.decode(data)
        if not isinstance(raw, dict) or "type" not in raw or "seq" not in raw:
            raise
        return UnknownEvent(
            seq=raw["seq"],
            time=raw.get("time", 0.0),
            session=raw.get("session", ""),
            turn=raw.get("turn", ""),
            kind=str(raw["type"]),
        )
