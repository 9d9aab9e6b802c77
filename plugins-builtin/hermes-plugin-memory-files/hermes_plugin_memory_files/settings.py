"""The plugin's section of hermes.yaml."""

from __future__ import annotations

from typing import Annotated

from hermes_plugins import Meta, Section


class MemoryFiles(Section, frozen=True, kw_only=True):
    """Section ``plugins.memory-files``: how much each file holds."""

    memory_chars: Annotated[int, Meta(ge=100, description="Characters that MEMORY.md may hold")] = (
        2200
    )
    user_chars: Annotated[int, Meta(ge=100, description="Characters that USER.md may hold")] = 1375
