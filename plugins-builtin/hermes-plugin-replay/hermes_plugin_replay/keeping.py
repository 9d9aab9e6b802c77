"""Kept events: one file a session in ``logs/events``, one event a line, secrets masked.

Neighbouring deltas of a tenth of a second are one line; a text with a secret in it is one whatever its
time, because a secret may be cut anywhere. About twice the size of what was said.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from hermes_plugins import (
    AnyEvent,
    Event,
    Host,
    Paths,
    ReasoningDelta,
    TextDelta,
    TurnEnded,
    decode_event,
    encode_event,
)

from .masking import masked

TOGETHER = 0.1
"""Seconds; faster than that nobody reads."""


def folder_of(paths: Paths) -> Path:
    """Where the files are."""
    return paths.logs / "events"


def append(host: Host, session: str, events: Sequence[Event], held: list[Event]) -> None:
    """Write a batch; ``held`` keeps the deltas whose text may go on in the next one.

    Raises:
        OSError: the file cannot be written.
    """
    ready = list(_settled(events, held, host.redact))
    if not ready:
        return
    path = folder_of(host.paths) / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b"".join(encode_event(event) + b"\n" for event in ready)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags, 0o600)
    with open(handle, "wb") as file:
        file.write(data)


def read(paths: Paths, session: str) -> list[AnyEvent]:
    """What was kept of a session; lines that are no events are left out."""
    found: list[AnyEvent] = []
    try:
        lines = (folder_of(paths) / f"{session}.jsonl").read_bytes().splitlines()
    except OSError:
        return []
    for line in lines:
        with contextlib.suppress(msgspec.MsgspecError):
            found.append(decode_event(line))
    return found


async def prune(host: Host, *, most: int) -> None:
    """Remove the events of sessions that are gone, and the oldest while there are more bytes."""
    files = []
    for path in folder_of(host.paths).glob("*.jsonl"):
        with contextlib.suppress(OSError):
            files.append((path.stat().st_mtime, path.stat().st_size, path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total > most or await host.sessions.get(path.stem) is None:
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size


def _settled(
    events: Iterable[Event], held: list[Event], redact: Callable[[str], str]
) -> Iterator[Event]:
    """The events, masked; deltas when the text that they belong to is whole."""
    for event in events:
        is_delta = isinstance(event, TextDelta | ReasoningDelta)
        if held and not (is_delta and type(event) is type(held[0])):
            yield from _joined(held, redact)
            held.clear()
        if is_delta:
            held.append(event)
        else:
            yield masked(event, redact)
        if isinstance(event, TurnEnded):
            held.clear()


def _joined(deltas: Sequence[Event], redact: Callable[[str], str]) -> Iterator[Event]:
    pieces = [one for one in deltas if isinstance(one, TextDelta | ReasoningDelta)]
    whole = "".join(one.text for one in pieces)
    if (shown := redact(whole)) != whole:
        yield msgspec.structs.replace(pieces[0], text=shown)
        return
    start, texts = pieces[0], [pieces[0].text]
    for piece in pieces[1:]:
        if piece.time - start.time >= TOGETHER:
            yield msgspec.structs.replace(start, text="".join(texts))
            start, texts = piece, []
        texts.append(piece.text)
    yield msgspec.structs.replace(start, text="".join(texts))
