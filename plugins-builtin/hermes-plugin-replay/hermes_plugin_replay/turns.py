"""The events of a session, turn by turn: as they were kept, else made from the stored messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from hermes_plugins import (
    AnyEvent,
    Event,
    Message,
    MessageDone,
    Outcome,
    RequestStarted,
    SessionInfo,
    Steered,
    StoredMessage,
    TextDelta,
    ToolCall,
    ToolDone,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)

LABEL_CHARS = 100


def split(messages: Iterable[StoredMessage]) -> list[list[StoredMessage]]:
    """The messages by turn: each begins with what a person said."""
    turns: list[list[StoredMessage]] = []
    for stored in messages:
        if not turns or begins(stored.message):
            turns.append([])
        turns[-1].append(stored)
    return turns


def begins(message: Message) -> bool:
    """Whether a turn begins with it: steering, and the host's own notes, are part of one."""
    return message.role == "user" and bool(message.parts) and not message.meta.get("steer")


def results_of(messages: Sequence[Message], at: int) -> Iterator[tuple[ToolCall, Message | None]]:
    """The calls of the answer at that place, and the result of each; ids may come again later."""
    found: dict[str, Message] = {}
    for message in messages[at + 1 :]:
        if message.role == "assistant":
            break
        if message.role == "tool":
            found.setdefault(message.tool_call_id, message)
    for call in messages[at].tool_calls:
        yield call, found.get(call.id)


def events_of(
    info: SessionInfo, messages: Sequence[StoredMessage], kept: Sequence[AnyEvent]
) -> tuple[list[list[Event]], int]:
    """The turns, and how many of them were kept."""
    whole = {turn[0]: turn[1] for turn in _kept_turns(kept)}
    turns: list[list[Event]] = []
    found = 0
    for turn in split(messages):
        before = whole.get(turn[0].position)
        found += before is not None
        turns.append(before or list(_made(info, turn)))
    return turns, found


def _kept_turns(kept: Iterable[AnyEvent]) -> Iterator[tuple[int, list[Event]]]:
    """Turns that were kept to their end, by the position of the message that began them."""
    by_turn: dict[str, list[Event]] = {}
    for event in kept:
        by_turn.setdefault(event.turn, []).append(event)
    for events in by_turn.values():
        began = (
            one.position for one in events if isinstance(one, MessageDone) and begins(one.message)
        )
        position = next(began, 0)
        if position and isinstance(events[-1], TurnEnded):
            yield position, events


def _made(info: SessionInfo, turn: Sequence[StoredMessage]) -> Iterator[Event]:
    """What the turn would have told, as far as its messages know."""
    for seq, (time, event) in enumerate(_told(info, turn), 1):
        yield msgspec.structs.replace(
            event, seq=seq, time=time, session=info.id, turn=f"at-{turn[0].position}"
        )


def _told(info: SessionInfo, turn: Sequence[StoredMessage]) -> Iterator[tuple[float, Event]]:
    messages = [one.message for one in turn]
    requests, calls, before = 0, 0, turn[0].time
    for number, stored in enumerate(turn):
        message, time = stored.message, stored.time
        done = time, MessageDone(message=message, position=stored.position)
        if message.role == "assistant":
            requests += 1
            yield before, RequestStarted(number=requests)
            if message.text:
                yield time, TextDelta(text=message.text)
            yield done
            for call, result in results_of(messages, number):
                calls += 1
                if result is None or result.status not in ("blocked", "cancelled"):
                    yield time, _started(call)
        elif message.role == "tool":
            yield done
            yield time, _ended(message, seconds=time - before)
        else:
            if number == 0:
                yield time, TurnStarted(message=message, model=info.model)
            yield done
            if message.meta.get("steer"):
                yield time, Steered(text=message.text)
        before = time
    yield before, _end(info, turn, requests=requests, calls=calls)


def _started(call: ToolCall) -> ToolStarted:
    try:
        arguments = msgspec.json.decode(call.arguments, type=dict[str, object])
    except msgspec.MsgspecError:
        arguments = {}
    label = str(next(iter(arguments.values()), "")).strip().partition("\n")[0]
    return ToolStarted(call=call.id, tool=call.name, label=label[:LABEL_CHARS], arguments=arguments)


def _ended(message: Message, *, seconds: float) -> ToolDone:
    text = message.text.strip().partition("\n")[0]
    if message.status == "blocked":  # the rest is for the model
        text = text.removeprefix("BLOCKED: ").partition(". ")[0]
    return ToolDone(
        call=message.tool_call_id,
        tool=message.tool_name,
        status=message.status,
        summary=text[:LABEL_CHARS],
        seconds=max(seconds, 0.0),
    )


def _end(
    info: SessionInfo, turn: Sequence[StoredMessage], *, requests: int, calls: int
) -> TurnEnded:
    last = turn[-1].message
    outcome: Outcome = "failed"
    reason = "No answer was stored."
    if "interrupted" in (last.status, *(one.message.status for one in turn[-2:])):
        outcome, reason = "interrupted", "Interrupted."
    elif last.role == "assistant" and not last.tool_calls:
        outcome, reason = "completed", ""
    return TurnEnded(
        outcome=outcome,
        text=last.text if last.role == "assistant" else "",
        reason=reason,
        model_calls=requests,
        tool_calls=calls,
        model=info.model,
        seconds=max(turn[-1].time - turn[0].time, 0.0),
    )
