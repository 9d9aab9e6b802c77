"""The platform lines: an invented chat service. The connection stands in ``connection.py``.

Splitting long answers, sessions, approvals and who may speak are the gateway's.
"""

from __future__ import annotations

from typing import Annotated

from hermes_plugins import ConfigSection, Meta, Section, hookimpl


class Settings(Section, frozen=True, kw_only=True):
    """Section ``plugins.lines``."""

    host: Annotated[str, Meta(description="name or address of the service")] = "127.0.0.1"
    port: Annotated[int, Meta(description="its port", ge=1, le=65535)] = 7070


@hookimpl
def hermes_register_config() -> list[ConfigSection]:
    """Where the service is."""
    return [ConfigSection(name="lines", schema=Settings)]
