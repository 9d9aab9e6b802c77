"""The platform lines: an invented chat service. The connection stands in ``connection.py``."""

from __future__ import annotations

from typing import Annotated

from hermes_plugins import (
    ConfigSection,
    Host,
    Meta,
    Platform,
    PlatformSpec,
    Section,
    hookimpl,
)


class Settings(Section, frozen=True, kw_only=True):
    """Section ``plugins.lines``."""

    server: Annotated[str, Meta(description="name or address of the service")] = "127.0.0.1"
    port: Annotated[int, Meta(description="its port", ge=1, le=65535)] = 7070


@hookimpl
def hermes_register_config() -> list[ConfigSection]:
    """Where the service is."""
    return [ConfigSection(name="lines", schema=Settings)]


@hookimpl
def hermes_register_platforms() -> list[PlatformSpec]:
    """The one platform. Its service takes a key once, also from our next process."""
    return [PlatformSpec(id="lines", make=connect, keeps_keys=True)]


def connect(host: Host) -> Platform:
    """Called by the gateway whenever the platform is (re)started."""
    from .connection import Lines

    return Lines(host)
