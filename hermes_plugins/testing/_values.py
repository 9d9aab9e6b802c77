"""Values that hooks are called with, filled in where a test does not care."""

from __future__ import annotations

import msgspec

from hermes_plugins._decisions import CallView
from hermes_plugins._effects import Effects


def a_call(effects: Effects = Effects(), **fields: object) -> CallView:  # noqa: B008 (frozen)
    """A tool call as a judge or a watcher sees it; ``fields`` are those of `CallView`.

    Without them it is ``call-1`` of the tool ``some_tool`` in the toolset ``some``, without arguments
    and with effects that touch nothing (`Effects()`, as of a `Pure` tool), in the session
    ``20260101_000000_abcdef``, turn ``turn-1``, workspace ``/w``, face ``cli``.
    """
    base = CallView(
        id="call-1",
        tool="some_tool",
        toolset="some",
        arguments={},
        effects=effects,
        session="20260101_000000_abcdef",
        turn="turn-1",
        workspace="/w",
        face="cli",
    )
    return msgspec.structs.replace(base, **fields)
