"""Sessions on their way out of a home: as JSON lines, which `intake` reads again, or as Markdown.

A file of JSON lines holds one or more sessions: a line with the session, its setup and what it used,
then a line for each message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final, TypeAlias

import msgspec

from hermes_core.store import sessions
from hermes_core.store.database import Connection
from hermes_plugins._errors import StoreError
from hermes_plugins._messages import ImagePart, Json, Message, TextPart, Usage
from hermes_plugins._store import SessionInfo, StoredMessage

Redact: TypeAlias = Callable[[str], str]

LATEST: Final = 253_402_300_799.0
"""The end of the year 9999, the last that a date can have."""
_ARGUMENT_CHARS: Final = 200
"""Of a tool call's arguments, in Markdown."""


class Header(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="v", tag=1
):  # the first line of a session
    """A session without its messages. ``named``: a person chose its title."""

    session: SessionInfo
    named: bool = False
    model_calls: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    system: str = ""
    tools: msgspec.Raw = msgspec.Raw(b"[]")
    usage: dict[str, Usage] = {}


class Exported(msgspec.Struct, frozen=True):
    """A session with its messages."""

    header: Header
    messages: list[StoredMessage]


def export(connection: Connection, session_id: str) -> Exported:
    """A session as it is at this moment.

    Raises:
        StoreError: there is no such session.
    """
    connection.execute("BEGIN")
    try:
        info = sessions.get(connection, session_id)
        if info is None:
            raise StoreError(f"there is no session {session_id}.", hint="See: hermes sessions list")
        system, tools = sessions.setup(connection, session_id)
        calls, named = connection.execute(
            "SELECT model_calls, named FROM sessions WHERE id = ?", (session_id,)
        ).fetchone()
        messages = sessions.messages(connection, session_id)
        last = messages[-1].position if messages else 0
        header = Header(
            session=msgspec.structs.replace(info, message_count=last),
            named=bool(named),
            model_calls=calls,
            system=system,
            tools=msgspec.Raw(tools or b"[]"),
            usage=sessions.usage(connection, session_id),
        )
        return Exported(header, messages)
    finally:
        connection.execute("COMMIT")


def written(exported: Exported, *, as_json: bool) -> bytes:
    """The session's part of a file: JSON lines, else Markdown."""
    if not as_json:
        return markdown(exported).encode()
    lines = (exported.header, *exported.messages)
    return b"".join([msgspec.json.encode(line) + b"\n" for line in lines])


def redacted(exported: Exported, redact: Redact) -> Exported:
    """The session without what looks like a secret, in texts, calls, prompt and title alike."""
    header = msgspec.structs.replace(
        exported.header,
        session=msgspec.structs.replace(
            exported.header.session, title=redact(exported.header.session.title)
        ),
        system=redact(exported.header.system),
    )
    messages = [
        msgspec.structs.replace(one, message=_redacted(one.message, redact))
        for one in exported.messages
    ]
    return Exported(header, messages)


def _redacted(message: Message, redact: Redact) -> Message:
    calls = [
        msgspec.structs.replace(call, arguments=_redacted_json(call.arguments, redact))
        for call in message.tool_calls
    ]
    parts = [
        TextPart(redact(part.text)) if isinstance(part, TextPart) else part
        for part in message.parts
    ]
    meta = {key: _walk(value, redact) for key, value in message.meta.items()}
    return msgspec.structs.replace(
        message,
        parts=tuple(parts),
        added=tuple(redact(text) for text in message.added),
        tool_calls=tuple(calls),
        reasoning=redact(message.reasoning),
        meta=meta,
    )


def _redacted_json(text: str, redact: Redact) -> str:
    """As text, so that a name is seen beside its value; string by string where that breaks it."""
    masked = redact(text)
    if masked == text or _is_json(masked) or not _is_json(text):
        return masked
    return msgspec.json.encode(_walk(msgspec.json.decode(text), redact)).decode()


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError):
        return False
    return True


def _walk(value: Json, redact: Redact) -> Json:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_walk(one, redact) for one in value]
    if isinstance(value, dict):
        return {key: _walk(one, redact) for key, one in value.items()}
    return value


def markdown(exported: Exported) -> str:
    """The conversation to read: what was said, and the tool calls in a line each."""
    info = exported.header.session
    parts = [f"# {info.title or info.id}\n"]
    statuses = {
        one.message.tool_call_id: one.message.status
        for one in exported.messages
        if one.message.role == "tool"
    }
    for stored in exported.messages:
        message = stored.message
        if message.role not in ("user", "assistant"):
            continue
        lines = [message.text] if message.text else []
        lines += ["(an image)" for part in message.parts if isinstance(part, ImagePart)]
        lines += [
            f"- {call.name} `{_short(call.arguments)}`: {statuses.get(call.id, 'no result')}"
            for call in message.tool_calls
        ]
        if lines:
            who = "You" if message.role == "user" else info.model or "Assistant"
            parts.append(f"## {who}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _short(arguments: str) -> str:
    text = " ".join(arguments.replace("`", "'").split())
    return text if len(text) <= _ARGUMENT_CHARS else text[: _ARGUMENT_CHARS - 1] + "…"
