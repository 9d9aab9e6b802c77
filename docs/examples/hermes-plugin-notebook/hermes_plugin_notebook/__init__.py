"""The memory backend notebook. The store stands in ``backend.py``."""

from __future__ import annotations

from typing import Annotated

from hermes_plugins import ConfigSection, Meta, Section, hookimpl


class Settings(Section, frozen=True, kw_only=True):
    """Section ``plugins.notebook``."""

    max_entries: Annotated[int, Meta(ge=1, description="entries; the oldest goes first")] = 1000


@hookimpl
def hermes_register_config() -> list[ConfigSection]:
    """How much is kept."""
    return [ConfigSection(name="notebook", schema=Settings)]
