"""Making the messages of a session that broke off valid again, so that it can go on.

A provider refuses a history in which a tool call has no result or a result no call. Both happen
when a process is killed, or a stored row cannot be read any more.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

import msgspec

from hermes_plugins._messages import (
    Message,
    ToolCall,
    assistant_message,
    decode_message,
    tool_message,
)
from hermes_plugins._store import StoredMessage

INTERRUPTED = (
    "This call was interrupted before its result was stored. It may or may not have taken effect: "
    "look before you repeat it."
)

log = logging.getLogger("hermes.store")


def read(rows: Iterable[tuple[int, float, bytes]], session_id: str) -> list[StoredMessage]:
    """Rows of (position, time, body) as messages; one that is unreadable is skipped, and logged."""
    messages = []
    for position, time, body in rows:
        try:
            message = decode_message(body)
        except (msgspec.MsgspecError, ValueError, TypeError) as error:
            log.warning(
                "message %d of session %s is unreadable and left out: %s",
                position,
                session_id,
                error,
            )
            continue
        messages.append(StoredMessage(position=position, time=time, message=message))
    return messages


def mend(messages: Sequence[StoredMessage]) -> tuple[list[StoredMessage], list[Message]]:
    """A valid history, and what must be appended to it: results for calls that never got one.

    Calls left open in the middle (a row was unreadable) are closed in the returned list only, at
    the position of the message before; results without a call are left out of it.
    """
    valid: list[StoredMessage] = []
    pending: dict[str, ToolCall] = {}
    for stored in messages:
        message = stored.message
        if message.role == "tool":
            if pending.pop(message.tool_call_id, None) is not None:
                valid.append(stored)
            continue
        for call in pending.values():
            valid.append(msgspec.structs.replace(valid[-1], message=closing(call)))
        pending = {call.id: call for call in message.tool_calls}
        valid.append(stored)
    return valid, [closing(call) for call in pending.values()]


def valid(messages: Iterable[Message]) -> list[Message]:
    """A valid history of messages that were not stored yet, such as a client's own."""
    kept, closings = mend([StoredMessage(position=0, time=0.0, message=one) for one in messages])
    return [*(one.message for one in kept), *closings]


def closing(call: ToolCall) -> Message:
    """The result of a call whose own was lost."""
    return tool_message(call, INTERRUPTED, status="interrupted")


def partial(text: str, reasoning: str) -> Message:
    """The answer that was being streamed, marked as cut off."""
    return msgspec.structs.replace(
        assistant_message(text), reasoning=reasoning, status="interrupted"
    )
