"""docs/reference/events.md: every event, its fields and what it looks like as JSON."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator

import msgspec

from hermes_plugins import AnyEvent, Outcome, ToolCall, Usage, decode_event, encode_event
from hermes_plugins import _events as module
from hermes_plugins._messages import assistant_message, user_message
from pages import source

_HEAD = """\
# Events

Made from `hermes_plugins/_events.py` by `scripts/generate_docs.py`; do not edit.

A turn tells what happens as a stream of events: `async for event in run`, or one JSON object a line
with `hermes chat --json`. Each carries `type`, `v` (1), `seq` (from 1, in one turn), `time` (seconds
since the epoch), `session` and `turn`. The order is that of what happened; the last one is always
`turn_ended`.

- `text_delta` is provisional: what is stored comes as `message_done`, whole, after it.
- One turn has one `turn_started`, a `request_started` for each model call, a `message_done` for each
  message that was stored (the person's, the answers, the tool results), and one `turn_ended`.
- Ignore a `type` that you do not know: a newer version may send one. `decode_event` gives it to you as
  `UnknownEvent`.
"""
_CALL = ToolCall(id="call_1", name="read_file", arguments='{"path": "notes.txt"}')
# A value for each field that has no default or whose default says nothing.
_SAMPLES: dict[str, object] = {
    "turn_started.message": user_message("Read notes.txt"),
    "turn_started.model": "openrouter/auto",
    "request_started.number": 1,
    "text_delta.text": "Buy ",
    "reasoning_delta.text": "A short file.",
    "message_done.message": assistant_message("", tool_calls=(_CALL,)),
    "message_done.position": 2,
    "call": "call_1",
    "tool": "read_file",
    "label": "notes.txt",
    "arguments": {"path": "notes.txt"},
    "tool_progress.text": "half way",
    "status": "ok",
    "summary": "1|Buy milk.",
    "seconds": 0.02,
    "approval_asked.tool": "terminal",
    "approval_asked.reason": "it is not on the list of harmless commands",
    "approval_asked.shown": "make install",
    "answer": "once",
    "by": "person",
    "retrying.reason": "rate_limit",
    "retrying.detail": "openrouter gets too many requests.",
    "attempt": 1,
    "delay": 2.4,
    "steered.text": "the second file too",
    "notice.text": "pasted text was shortened",
    "outcome": "completed",
    "turn_ended.text": "Buy milk.",
    "model_calls": 2,
    "tool_calls": 1,
    "usage": Usage(input=1830, output=41, cached=1200, cost=0.0004),
    "turn_ended.model": "openrouter/auto",
    "turn_ended.seconds": 1.8,
}
_COMMON = {"seq": 4, "time": 1796071861.85, "session": "20261130_205101_9f3c79", "turn": "a42f35a9"}


def page() -> str:
    """The text."""
    kinds: list[type[msgspec.Struct]] = [
        kind for kind in typing.get_args(AnyEvent) if kind is not module.UnknownEvent
    ]
    parts = [_HEAD]
    rows = [f"| [`{_tag(kind)}`](#{_tag(kind)}) | {source.paragraph(kind)} |" for kind in kinds]
    parts.append("| type | |\n|---|---|\n" + "\n".join(rows))
    parts += ["\n".join(_section(kind)) for kind in kinds]
    outcomes = ", ".join(f"`{name}`" for name in typing.get_args(Outcome))
    parts.append(
        f"## Outcomes\n\nA turn ends as one of {outcomes}. What each means for the exit status "
        "stands in [errors](errors.md#exit-statuses)."
    )
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _tag(kind: type[msgspec.Struct]) -> str:
    return str(kind.__struct_config__.tag)


def _section(kind: type[msgspec.Struct]) -> Iterator[str]:
    yield f"## {_tag(kind)}\n"
    yield f"`{kind.__name__}`\n\n{source.prose(kind)}\n"
    own = [one for one in source.fields(kind) if one.name not in (*_COMMON, "v")]
    yield from (
        f"- `{one.name}: {one.hint}`" + (f", default `{one.default}`" if one.default else "")
        for one in own
    )
    encoded = encode_event(example(kind))
    assert type(decode_event(encoded)) is kind
    shown = json.dumps(json.loads(encoded), ensure_ascii=False, indent=2)
    yield f"\n```json\n{shown}\n```"


def example(kind: type[msgspec.Struct]) -> module.Event:
    """An event of a kind, with something in every field."""
    values: dict[str, object] = dict(_COMMON)
    for one in source.fields(kind):
        named = _SAMPLES.get(f"{_tag(kind)}.{one.name}", _SAMPLES.get(one.name))
        if named is not None and one.name not in _COMMON:
            values[one.name] = named
    made = kind(**values)
    assert isinstance(made, module.Event)
    return made
