"""Section ``plugins.replay``."""

from __future__ import annotations

from typing import Annotated

from hermes_plugins import Meta, Section


class Settings(Section, frozen=True, kw_only=True):
    """What is kept."""

    keep: Annotated[
        bool, Meta(description="Keep the events of every session, secrets masked, in logs/events")
    ] = False
    megabytes: Annotated[
        int, Meta(ge=1, description="The oldest go when all of them together are larger")
    ] = 100
