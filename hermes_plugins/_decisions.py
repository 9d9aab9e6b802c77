"""What a ``hermes_before_*`` hook answers, and what it is asked about."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from hermes_plugins._effects import Effects
from hermes_plugins._messages import Json


class Allow(msgspec.Struct, frozen=True):
    """No objection; the strictest answer of all judges wins."""


class Ask(msgspec.Struct, frozen=True):
    """A person must say yes; ``reason`` is shown to them."""

    reason: str


class Deny(msgspec.Struct, frozen=True):
    """No; ``reason`` is told to the model."""

    reason: str


Decision: TypeAlias = Allow | Ask | Deny


class CallView(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call as judges and watchers see it: a decoded copy of its own.

    ``paths`` in ``effects`` are already resolved by the session's environment.
    """

    id: str
    tool: str
    toolset: str
    arguments: dict[str, Json]
    effects: Effects
    session: str
    turn: str
    workspace: str
    face: str


class ResultView(msgspec.Struct, frozen=True, kw_only=True):
    """A tool result: ``raw`` is what the handler gave, ``shown`` what the model reads."""

    call: CallView
    status: str
    raw: str
    shown: str
    seconds: float
