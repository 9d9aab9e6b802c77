"""The status line: what matters most stays when the terminal is narrow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
from prompt_toolkit.formatted_text import StyleAndTextTuples

from hermes_plugins import SessionStatus

from .cleaning import columns, one_line

_SEPARATOR: Final = " · "
_NARROW: Final = ("hint", "cost", "budget", "context")
"""What is left out first."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What the line tells; ``call`` is the number of the model call that runs, 0 for none."""

    model: str
    status: SessionStatus
    cost: float = 0.0
    call: int = 0
    is_working: bool = False


def status_line(facts: Facts, width: int) -> StyleAndTextTuples:
    """The line in fragments, at most so wide."""
    parts = _parts(facts)
    for name in _NARROW:
        if _width(parts.values()) <= width:
            break
        parts.pop(name, None)
    if (over := _width(parts.values()) - width) > 0:
        parts["model"] = one_line(facts.model.rpartition("/")[2], len(facts.model) - over)
    if len(parts["model"]) < 2:
        del parts["model"]
    shown: StyleAndTextTuples = []
    for name, text in parts.items():
        if shown:
            shown.append(("class:status", _SEPARATOR))
        is_loud = name == "mode" and facts.status.mode == "off"
        shown.append(("class:warning" if is_loud else "class:status", text))
    return shown


def _parts(facts: Facts) -> dict[str, str]:
    status = facts.status
    parts = {"model": facts.model}
    if status.context_used:
        parts["context"] = f"{_short(status.context_used)} tokens"
        if status.context_length:
            share = 100 * status.context_used / status.context_length
            whole = _short(status.context_length)
            parts["context"] = f"{_short(status.context_used)} of {whole} tokens ({share:.0f}%)"
    if facts.cost:
        parts["cost"] = f"${facts.cost:.4f}" if facts.cost < 1 else f"${facts.cost:.2f}"
    if facts.is_working and facts.call:
        parts["budget"] = f"call {facts.call} of {status.max_turns}"
    parts["mode"] = f"approvals {status.mode}"
    if facts.is_working:
        parts["hint"] = "Esc interrupts"
    return parts


def _width(texts: Iterable[str]) -> int:
    return columns(_SEPARATOR.join(texts)) + 1


def _short(count: int) -> str:
    if count < 10_000:
        return f"{count:,}"
    return f"{count / 1000:.0f}k" if count < 1_000_000 else f"{count / 1_000_000:.1f}M"
