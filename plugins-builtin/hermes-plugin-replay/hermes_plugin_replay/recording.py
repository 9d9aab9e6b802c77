"""What was recorded of a session, as a plan that `hermes_plugins.testing.replay` plays."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence

import msgspec

from hermes_plugins import (
    ApprovalDone,
    Event,
    Json,
    Message,
    SessionInfo,
    StoredMessage,
    TextPart,
    ToolCall,
)

from .masking import inside
from .turns import results_of, split

WORKSPACE, SCRATCH = "<workspace>", "<scratch>"
_STOPPED = "I stopped because "
"""How the host's own answer begins that ends a turn which goes in circles."""


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the person and what the model gave; the fields are those of
    `hermes_plugins.testing.replay`, and ``answers`` what the gate then asked for."""

    said: str
    replies: list[dict[str, Json]] = []
    decide: dict[str, str] = {}
    words: list[str] = []
    steered: dict[int, str] = {}
    answers: list[str] = []


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What `hermes_plugins.testing.replay` plays."""

    turns: list[Said]
    toolsets: list[str] = []
    plugins: list[str] = []
    files: dict[str, str] = {}


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call as it was; ``text`` is the first line of its result."""

    tool: str
    arguments: Json
    status: str
    text: str = ""


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """A session: what to play, what happened then, and what a replay cannot say again."""

    turns: list[Said]
    calls: list[list[Call]]
    notes: list[str]

    @property
    def tools(self) -> list[str]:
        """The tools that were called, by name."""
        return sorted({call.tool for turn in self.calls for call in turn})


def record_of(
    info: SessionInfo,
    messages: Sequence[StoredMessage],
    events: Sequence[Event],
    *,
    scratch: str,
    redact: Callable[[str], str],
) -> Recorded:
    """Read a session; ``events`` are those that were kept, for the answers that were given."""
    names = {info.workspace: WORKSPACE, os.path.realpath(info.workspace): WORKSPACE}
    names |= {scratch: SCRATCH, os.path.realpath(scratch): SCRATCH}
    said: dict[str, deque[str]] = {}
    for event in events:
        if isinstance(event, ApprovalDone):
            said.setdefault(event.call, deque()).append(event.answer)
    turns: list[Said] = []
    calls: list[list[Call]] = []
    notes: list[str] = []
    masked = False
    for number, stored in enumerate(split(messages), 1):
        turn = _Turn([one.message for one in stored], said)
        plan, made = turn.read(), turn.calls
        plain = _replaced(msgspec.to_builtins((plan, made)), names)
        shown = inside(plain, redact)
        masked = masked or shown != plain
        plan, made = msgspec.convert(shown, tuple[Said, list[Call]], strict=False)
        turns.append(plan)
        calls.append(made)
        notes += [f"message {number}: {note}" for note in turn.notes]
    if masked:
        notes.append("secrets are masked; a call that had one may go another way here")
    return Recorded(turns=turns, calls=calls, notes=notes)


class _Turn:
    """One turn's messages, read. ``said`` is what the person answered, by call."""

    def __init__(self, messages: Sequence[Message], said: Mapping[str, deque[str]]) -> None:
        self._messages = messages
        self._said = said
        self._replies: list[dict[str, Json]] = []
        self._decide: dict[str, str] = {}
        self._words: list[str] = []
        self._steered: dict[int, str] = {}
        self.calls: list[Call] = []
        self.notes: list[str] = []

    def read(self) -> Said:
        """What to play; fills ``calls`` and ``notes``."""
        first = self._messages[0]
        if any(not isinstance(part, TextPart) for part in first.parts):
            self.notes.append("what is no text (an image) is left out")
        start = int(first.role == "user")
        for at, message in enumerate(self._messages[start:], start):
            if message.role == "user" and message.text and self._replies:
                place = len(self._replies)
                before = self._steered.get(place)
                self._steered[place] = "\n".join(filter(None, (before, message.text)))
            elif message.role == "assistant" and not message.text.startswith(_STOPPED):
                self._answer(message, list(results_of(self._messages, at)))
        if self._messages[-1].role != "assistant":
            self.notes.append("its end was not recorded: no answer of the model")
            lost = {"reply": "fail", "status": 400, "message": "no answer was recorded"}
            self._replies.append(lost)
        return Said(
            said=first.text if first.role == "user" else "",
            replies=self._replies,
            decide=self._decide,
            words=self._words,
            steered=self._steered,
        )

    def _answer(self, message: Message, results: Sequence[tuple[ToolCall, Message | None]]) -> None:
        if message.status == "interrupted":
            self.notes.append("an answer that was cut off there is whole here, as far as it came")
        wanted: list[tuple[str, Json, str]] = []
        for call, result in results:
            arguments = _read(call.arguments)
            wanted.append((call.name, arguments, f"call_{len(self._decide) + 1}"))
            self._decide[wanted[-1][2]] = self._decision(call, result)
            self.calls.append(_made(call, arguments, result))
            if result is not None and result.tool_name == "clarify" and result.status == "ok":
                self._words.append(result.text.partition(": ")[2])
        self._replies.append(_reply(message, wanted))

    def _decision(self, call: ToolCall, result: Message | None) -> str:
        """What the person said, or must have said."""
        said = self._said.get(call.id)
        if said and (answer := said.popleft()) in ("once", "session", "always", "deny"):
            return answer
        return "deny" if result is None or result.status in ("blocked", "cancelled") else "once"


def _reply(message: Message, wanted: Sequence[tuple[str, Json, str]]) -> dict[str, Json]:
    """An entry of a script file of the scripted server."""
    if not wanted:
        finish = {"finish": "length"} if message.meta.get("finish") == "length" else {}
        return {"reply": "say", "text": message.text, **finish}
    if len(wanted) == 1 and not message.text:
        name, arguments, ident = wanted[0]
        return {"reply": "call", "name": name, "arguments": arguments, "id": ident}
    text = {"text": message.text} if message.text else {}
    return {"reply": "calls", "wanted": list(wanted), **text}


def _made(call: ToolCall, arguments: Json, result: Message | None) -> Call:
    if result is None:
        return Call(tool=call.name, arguments=arguments, status="interrupted")
    text = result.text.strip().partition("\n")[0][:200]
    name = result.tool_name or call.name
    return Call(tool=name, arguments=arguments, status=result.status, text=text)


def _read(arguments: str) -> Json:
    """The arguments as an object, or as they came where they are none."""
    try:
        found = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return arguments
    return found if isinstance(found, dict) else arguments


def _replaced(value: Json, names: Mapping[str, str]) -> Json:
    """The same value with folders in its texts replaced by their names."""
    known = sorted((path for path in names if len(path) > 3), key=len, reverse=True)
    if not known:
        return value
    pattern = re.compile(rf"(?:{'|'.join(map(re.escape, known))})(?![\w.-]*\w)")

    def inner(part: Json) -> Json:
        match part:
            case str():
                return pattern.sub(lambda match: names[match[0]], part)
            case dict():
                return {name: inner(one) for name, one in part.items()}
            case list() | tuple():
                return [inner(one) for one in part]
        return part

    return inner(value)
