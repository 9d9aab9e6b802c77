"""What is sent: how long the prompt is, and whether it ever moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from benchmarks.bench import Bench
from benchmarks.measure import Command, NotRun
from benchmarks.table import Figure, Row

TOOLSETS = "file,terminal,todo,clarify,memory"


class Request(msgspec.Struct):
    """A recorded request; the parts stay as they were sent. Some ask about the model: no messages."""

    messages: msgspec.Raw = msgspec.Raw(b"[]")
    tools: msgspec.Raw = msgspec.Raw(b"[]")


class _Opening(msgspec.Struct):
    role: str
    content: msgspec.Raw


def size(bench: Bench) -> Iterator[Row]:
    """Bytes of the system prompt and the tool schemas."""
    askers = {
        "hermes": bench.hermes.call("chat", "-q", "Hi.", "--toolsets", TOOLSETS, model="kept-say")
    }
    askers |= {peer.name: peer.ask("kept-say") for peer in bench.peers if peer.tools}
    figures: dict[str, Figure] = {}
    notes = []
    for name, command in askers.items():
        try:
            figures[name], tools = _prompt_of(bench, command)
            notes.append(f"{name} {tools}")
        except NotRun as reason:
            figures[name] = str(reason)
    yield Row(
        figure=f"system prompt and tool schemas, {TOOLSETS}",
        unit="bytes",
        digits=0,
        target=8000,
        measured=figures.pop("hermes"),
        peers=figures,
        note=f"tools: {', '.join(notes)}",
    )


def _prompt_of(bench: Bench, command: Command) -> tuple[float, int]:
    """Bytes, and how many tools."""
    for body in bench.requests_of(command):
        request = msgspec.json.decode(body, type=Request)
        tools = msgspec.json.decode(request.tools, type=list[msgspec.Raw])
        if tools:
            opening = msgspec.json.decode(request.messages, type=list[_Opening])[0]
            return float(len(bytes(opening.content)) + len(bytes(request.tools))), len(tools)
    raise NotRun("no request had tools")


def prefix(bench: Bench) -> Iterator[Row]:
    """Whether each request of a long session begins with the one before, byte for byte."""
    home = bench.folder / "session"
    measured: Figure
    note = ""
    try:
        bodies = bench.requests_of(bench.program("long_session.py", bench.url, str(home)))
        measured, note = float(count_breaks(bodies)), f"of {len(bodies)}"
    except NotRun as reason:
        measured = str(reason)
    yield Row(
        figure="requests that do not begin with the one before, 50 turns",
        unit="",
        digits=0,
        target=0,
        measured=measured,
        note=note,
    )


def count_breaks(bodies: Sequence[bytes]) -> int:
    """How many requests change anything that the one before had sent.

    Everything up to the end of the earlier messages must come again, and so must what follows the
    messages (the tools, where a dialect writes them last).
    """
    return sum(not _continues(before, after) for before, after in pairwise(bodies))


def _continues(before: bytes, after: bytes) -> bool:
    head, rest = _split(before)
    later_head, later_rest = _split(after)
    return later_head.startswith(head) and rest == later_rest


def _split(body: bytes) -> tuple[bytes, bytes]:
    """The body up to its last message, and what comes after the messages."""
    messages = bytes(msgspec.json.decode(body, type=Request).messages)
    end = body.index(messages) + len(messages)
    return body[: end - 1], body[end:]
