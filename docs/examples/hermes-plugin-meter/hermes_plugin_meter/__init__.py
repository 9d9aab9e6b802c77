"""Counts tokens by model, warns the model when there are many, and takes colours out of results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from hermes_plugins import (
    ConfigSection,
    Host,
    Json,
    Meta,
    Section,
    TurnEnded,
    hookimpl,
    update_record,
)

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Settings(Section, frozen=True, kw_only=True):
    """Section ``plugins.meter``."""

    warn_tokens: Annotated[int, Meta(ge=0, description="tokens of one model; 0 never warns")] = 0


class Meter:
    """One object a host, so what it knows is this host's."""

    def __init__(self) -> None:
        self._total = 0

    @hookimpl
    def hermes_register_config(self) -> list[ConfigSection]:
        """When to warn."""
        return [ConfigSection(name="meter", schema=Settings)]

    @hookimpl
    async def hermes_on_turn_end(self, host: Host, end: TurnEnded) -> None:
        """Add what the turn used to what is kept; other processes may do so at the same time."""
        used = end.usage.input + end.usage.output

        def add(known: Json) -> int:
            return int(str(known or 0)) + used

        kept = await update_record(host.records("tokens"), end.model, add)
        self._total = int(str(kept.value))

    @hookimpl
    async def hermes_transform_turn(self, host: Host, added: Sequence[str]) -> Sequence[str]:
        """Say so to the model with the next message. It is stored with it, so caches still hit."""
        limit = host.section(Settings).warn_tokens
        if not limit or self._total < limit:
            return added
        return [*added, f"(This model has used {self._total:,} tokens. Be brief.)"]

    @hookimpl
    async def hermes_transform_tool_result(self, text: str) -> str:
        """A terminal's colours cost tokens and say nothing."""
        return _COLOUR.sub("", text)
