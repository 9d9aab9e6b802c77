"""The trace file: one JSON object a line, bounded in size, safe for several processes.

What people and models wrote is not in it. The file is opened for each line and closed again (about 30
microseconds, off the turn's way), so that another process may rename it at any time, on Windows too.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from hermes_plugins import (
    CallView,
    Host,
    Message,
    Meta,
    ModelRequest,
    ProviderError,
    ResultView,
    Section,
    SessionInfo,
    TurnEnded,
)

MAX_BYTES = 5_000_000
KEPT = 3
"""Older files, ``.1`` the youngest."""


class Settings(Section, frozen=True, kw_only=True):
    """Section ``plugins.trace``."""

    file: Annotated[str, Meta(description="Name in the logs folder, or an absolute path")] = (
        "trace.jsonl"
    )
    include_arguments: Annotated[
        bool, Meta(description="Also tool arguments and error texts; these may contain secrets")
    ] = False


def write(host: Host, event: str, values: Sequence[object], facts: Mapping[str, object]) -> None:
    """Write one line with what is to be told of ``values``, and ``facts`` as they are.

    Raises:
        OSError: the file cannot be written.
        ConfigError: a setting does not fit.
    """
    settings = host.section(Settings)
    line = {"v": 1, "time": host.clock.now(), "pid": os.getpid(), "event": event, **facts}
    for value in values:
        line |= _told(value, settings.include_arguments)
    # What JSON cannot say (an argument of a foreign type) is written as its text.
    append(host.paths.logs / settings.file, msgspec.json.encode(line, enc_hook=str))


def _told(value: object, detail: bool) -> dict[str, object]:
    match value:
        case SessionInfo():
            return {"session": value.id}
        case Message():
            return {"chars": len(value.text), "calls": [call.name for call in value.tool_calls]}
        case ModelRequest():
            return {"model": value.model, "messages": len(value.messages)}
        case CallView():
            ids = {"session": value.session, "turn": value.turn, "call": value.id}
            return {**ids, "tool": value.tool, **({"arguments": value.arguments} if detail else {})}
        case ResultView():
            ended = {"status": value.status, "seconds": value.seconds, "chars": len(value.raw)}
            return {**_told(value.call, detail), **ended}
        case TurnEnded():
            names = ("turn", "outcome", "model", "model_calls", "tool_calls", "usage", "seconds")
            return {name: getattr(value, name) for name in names}
        case BaseException():
            told: dict[str, object] = {"error": type(value).__name__}
            if isinstance(value, ProviderError):
                told |= {"reason": value.reason, "status": value.status}
            return {**told, **({"text": str(value)[:4000]} if detail else {})}
    return {}


def append(path: Path, line: bytes) -> None:
    """Add a line in one write, after making room where the file has reached its size.

    Raises:
        OSError: the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size + len(line) > MAX_BYTES:
        _rotate(path)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags, 0o600)
    try:
        os.write(handle, line + b"\n")
    finally:
        os.close(handle)


def _rotate(path: Path) -> None:
    older = [path.with_name(f"{path.name}.{number}") for number in range(1, KEPT + 1)]
    for source, target in reversed(list(itertools.pairwise([path, *older]))):
        # Missing, or another process is at the same work: its lines go on into the larger file.
        with contextlib.suppress(FileNotFoundError, PermissionError):
            os.replace(source, target)
