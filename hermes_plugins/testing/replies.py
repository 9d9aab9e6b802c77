"""Replies of the scripted server: what a chat-completions server may send, good and bad.

Each function returns a `Reply`, encoded once and sendable any number of times. The forms follow
OpenAI's chat-completions API and what real servers are known to get wrong.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from hermes_plugins._messages import Json, ToolCall

End = Literal["done", "no_done", "cut", "hang"]
Call = ToolCall | tuple[str, Mapping[str, Json] | str] | tuple[str, Mapping[str, Json] | str, str]

_encode = msgspec.json.Encoder().encode
_USAGE: Mapping[str, Json] = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """One answer.

    ``events`` is the data of each server-sent event of the stream, each sent as an HTTP chunk of its
    own; with ``raw`` an event is the bytes of the chunk as they are, for other wires. ``body`` answers
    a request without ``"stream": true`` (and no ``raw``), and every request when there are no events.
    ``end``: ``done`` closes the stream properly, ``no_done`` leaves ``[DONE]`` and the last blank line
    out, ``cut`` drops the connection in the middle, ``hang`` keeps it open in silence.
    """

    events: tuple[bytes, ...] = ()
    usage: bytes = b""
    """The event with the usage, sent when the request asks for it."""
    body: bytes = b""
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = {}
    end: End = "done"
    raw: bool = False
    release: threading.Event | None = None
    """Waited for before the event number ``held_at`` is sent."""
    held_at: int = 0


def say(
    text: str,
    *,
    split: int | Sequence[str] = 0,
    usage: Mapping[str, Json] | None = None,
    finish: str = "stop",
) -> Reply:
    """Text, in one delta, in pieces of ``split`` characters, or in the pieces given."""
    message = {"role": "assistant", "content": text}
    events = [_delta(role="assistant", content=""), *_contents(text, split), _finish(finish)]
    return _reply(events, message, finish=finish, usage=usage)


def think(
    reasoning: str, text: str = "", *, field: str = "reasoning_content", split: int = 0
) -> Reply:
    """Reasoning in the field that the server uses for it, then text."""
    message = {"role": "assistant", field: reasoning, "content": text}
    thoughts = [_delta(**{field: piece}) for piece in _pieces(reasoning, split)]
    events = [_delta(role="assistant"), *thoughts, *_contents(text, split), _finish("stop")]
    return _reply(events, message, finish="stop")


def call(name: str, arguments: Mapping[str, Json] | str = "{}", *, id: str = "call_1") -> Reply:  # noqa: A002
    """One tool call, its arguments in two fragments."""
    return calls([(name, arguments, id)])


def calls(
    wanted: Iterable[Call], *, text: str = "", usage: Mapping[str, Json] | None = None
) -> Reply:
    """Several tool calls, one after the other, each with an index and an id of its own."""
    plan = _planned(wanted)
    events = [_delta(role="assistant", content=text)]
    for index, tool in enumerate(plan):
        half = (len(tool.arguments) + 1) // 2
        events += [
            _fragment(index, id=tool.id, name=tool.name, arguments=""),
            _fragment(index, arguments=tool.arguments[:half]),
            _fragment(index, arguments=tool.arguments[half:]),
        ]
    events.append(_finish("tool_calls"))
    return _reply(events, _asking(plan, text), finish="tool_calls", usage=usage)


def repeat_deltas(name: str, arguments: Mapping[str, Json] | str, *, times: int = 3) -> Reply:
    """Every delta repeats the whole name and arguments of the call (a proxy's habit)."""
    (tool,) = _planned([(name, arguments)])
    whole = _fragment(0, id=tool.id, name=tool.name, arguments=tool.arguments)
    return _reply([whole] * times + [_finish("tool_calls")], _asking([tool]), finish="tool_calls")


def same_index(wanted: Iterable[Call]) -> Reply:
    """Parallel calls with different ids that all say index 0."""
    plan = _planned(wanted)
    events = [_fragment(0, id=t.id, name=t.name, arguments=t.arguments) for t in plan]
    return _reply([*events, _finish("tool_calls")], _asking(plan), finish="tool_calls")


def interleaved(wanted: Iterable[Call], *, size: int = 4) -> Reply:
    """Parallel calls whose argument fragments alternate; only the index says whose they are."""
    plan = _planned(wanted)
    events = [_fragment(i, id=t.id, name=t.name, arguments="") for i, t in enumerate(plan)]
    longest = max((len(tool.arguments) for tool in plan), default=0)
    events += [
        _fragment(index, arguments=tool.arguments[start : start + size])
        for start in range(0, longest, size)
        for index, tool in enumerate(plan)
        if start < len(tool.arguments)
    ]
    return _reply([*events, _finish("tool_calls")], _asking(plan), finish="tool_calls")


def joined_arguments(name: str, *arguments: Mapping[str, Json]) -> Reply:
    """Several argument objects run together in one call."""
    return calls([(name, "".join(_encode(one).decode() for one in arguments))])


def truncated_arguments(name: str, arguments: Mapping[str, Json] | str, *, keep: int) -> Reply:
    """A call whose arguments end after ``keep`` characters because the output limit was reached."""
    (tool,) = _planned([(name, arguments)])
    cut_off = msgspec.structs.replace(tool, arguments=tool.arguments[:keep])
    start = _fragment(0, id=tool.id, name=tool.name, arguments=cut_off.arguments)
    return _reply([start, _finish("length")], _asking([cut_off]), finish="length")


def no_finish(text: str, *, split: int = 0) -> Reply:
    """Text, and then the stream ends properly but without a finish reason."""
    events = [_delta(role="assistant", content=""), *_contents(text, split)]
    return _reply(events, {"role": "assistant", "content": text}, finish=None)


def cut(text: str, *, after: int = 1, split: int = 0) -> Reply:
    """The connection drops after ``after`` deltas of the text."""
    reply = say(text, split=split)
    return msgspec.structs.replace(reply, events=reply.events[: after + 1], usage=b"", end="cut")


def unfinished_event(text: str) -> Reply:
    """A complete answer whose last event lacks its blank line, and no ``[DONE]``."""
    return msgspec.structs.replace(say(text), end="no_done")


def hang(text: str = "", *, split: int = 0) -> Reply:
    """Silence: before the status line, or after the text when there is one."""
    if not text:
        return Reply(end="hang")
    reply = say(text, split=split)
    return msgspec.structs.replace(reply, events=reply.events[:-1], usage=b"", end="hang")


def hold(reply: Reply, release: threading.Event, *, after: int = 0) -> Reply:
    """The reply, paused before its event number ``after`` until the test sets ``release``."""
    return msgspec.structs.replace(reply, release=release, held_at=after)


def fail(
    status: int,
    message: str = "",
    *,
    body: bytes | Mapping[str, Json] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """An error status, in OpenAI's form unless a body is given.

    With a body, the status may also be 200: an error in place of an answer. Where the error is one
    that is tried again, ``headers={"retry-after-ms": "1"}`` keeps the test from waiting.
    """
    if body is None:
        error = {"message": message or f"scripted error {status}", "type": "scripted", "code": None}
        body = {"error": error}
    encoded = body if isinstance(body, bytes) else _encode(body)
    return Reply(status=status, body=encoded, headers=headers or {})


def html(title: str = "Just a moment...", *, status: int = 200) -> Reply:
    """A web page instead of an answer, as firewalls and wrong addresses send."""
    page = f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body>Hi</body></html>"
    return Reply(status=status, body=page.encode(), content_type="text/html; charset=utf-8")


def error_in_stream(
    message: str,
    *,
    code: Json = None,
    after: str = "",
    shape: Literal["error", "error_type", "object"] = "error",
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """An error as an event of a 200 stream, after some text; ``shape`` is the form it has.

    For one that is tried again, ``headers={"retry-after-ms": "1"}`` keeps the test from waiting.
    """
    forms: dict[str, Mapping[str, Json]] = {
        "error": {"error": {"message": message, "code": code}, "choices": []},
        "error_type": {"error_type": code, "error_message": message},
        "object": {"object": "error", "message": message, "code": code},
    }
    before = [_delta(content=after)] if after else []
    body = _encode(forms[shape])
    return Reply(events=(*before, body), body=body, headers=headers or {})


def raw(
    *events: bytes | Mapping[str, Json],
    end: End = "done",
    body: bytes | Mapping[str, Json] = b"",
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Events given as they are, for whatever has no function here."""
    encoded = tuple(one if isinstance(one, bytes) else _encode(one) for one in events)
    whole = body if isinstance(body, bytes) else _encode(body)
    return Reply(events=encoded, body=whole, end=end, headers=headers or {})


REPLIES: dict[str, Callable[..., Reply]] = {
    "say": say,
    "think": think,
    "call": call,
    "calls": calls,
    "repeat_deltas": repeat_deltas,
    "same_index": same_index,
    "interleaved": interleaved,
    "truncated_arguments": truncated_arguments,
    "no_finish": no_finish,
    "cut": cut,
    "unfinished_event": unfinished_event,
    "hang": hang,
    "fail": fail,
    "html": html,
    "error_in_stream": error_in_stream,
}
"""What a script file may name: ``{"reply": NAME, ...arguments}``."""


def from_json(data: bytes) -> list[Reply]:
    """Read a script file: a list of ``{"reply": "say", "text": "Hi", "times": 3}``.

    ``reply`` is the name of a function of this module (but ``hold``, ``joined_arguments`` and ``raw``),
    ``times`` repeats it, every other key is an argument of that function.

    Raises:
        ValueError: no such reply, or arguments that it does not take.
    """
    replies: list[Reply] = []
    for entry in msgspec.json.decode(data, type=list[dict[str, Json]]):
        kind, times = str(entry.pop("reply", "")), entry.pop("times", 1)
        if kind not in REPLIES or not isinstance(times, int):
            raise ValueError(f"{kind!r} is no reply; known: {', '.join(sorted(REPLIES))}")
        try:
            replies += [REPLIES[kind](**entry)] * times
        except TypeError as error:
            raise ValueError(f"reply {kind!r}: {error}") from None
    return replies


def _reply(
    events: Iterable[bytes],
    message: Mapping[str, Json],
    *,
    finish: str | None,
    usage: Mapping[str, Json] | None = None,
) -> Reply:
    used = _USAGE if usage is None else usage
    choice = {"index": 0, "message": message, "finish_reason": finish}
    whole = {**_FRAME, "object": "chat.completion", "choices": [choice], "usage": used}
    last = _encode({**_FRAME, "choices": [], "usage": used})
    return Reply(events=tuple(events), usage=last, body=_encode(whole))


_FRAME: Mapping[str, Json] = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1_800_000_000,
    "model": "scripted",
}


def _delta(**delta: Json) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return _encode({**_FRAME, "choices": [choice]})


def _finish(reason: str) -> bytes:
    return _encode({**_FRAME, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})


def _fragment(index: int, *, arguments: str, id: str = "", name: str = "") -> bytes:  # noqa: A002
    function: dict[str, Json] = {"arguments": arguments}
    part: dict[str, Json] = {"index": index, "function": function}
    if id:
        part |= {"id": id, "type": "function"}
    if name:
        function["name"] = name
    return _delta(tool_calls=[part])


def _pieces(text: str, split: int | Sequence[str]) -> Sequence[str]:
    if not isinstance(split, int):
        return split
    if split <= 0:
        return [text] if text else []
    return [text[start : start + split] for start in range(0, len(text), split)]


def _contents(text: str, split: int | Sequence[str]) -> list[bytes]:
    return [_delta(content=piece) for piece in _pieces(text, split)]


def _planned(wanted: Iterable[Call]) -> list[ToolCall]:
    plan = []
    for number, one in enumerate(wanted, 1):
        if isinstance(one, ToolCall):
            plan.append(one)
            continue
        arguments = one[1] if isinstance(one[1], str) else _encode(one[1]).decode()
        ident = one[2] if len(one) == 3 else f"call_{number}"
        plan.append(ToolCall(id=ident, name=one[0], arguments=arguments))
    return plan


def _asking(plan: Sequence[ToolCall], text: str = "") -> Mapping[str, Json]:
    wire = [
        {
            "id": tool.id,
            "type": "function",
            "function": {"name": tool.name, "arguments": tool.arguments},
        }
        for tool in plan
    ]
    return {"role": "assistant", "content": text or None, "tool_calls": wire}
