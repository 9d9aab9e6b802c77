"""Tells the model the date and time with every message.

What is added is stored with the message, so earlier requests stay as they were and caches hit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from hermes_plugins import ConfigError, ConfigSection, Host, Meta, Section, hookimpl


class Now(Section, frozen=True, kw_only=True):
    """Section ``plugins.now``."""

    zone: Annotated[
        str, Meta(description="IANA name such as Europe/Vienna; empty takes this machine's zone")
    ] = ""


@hookimpl
async def hermes_transform_turn(host: Host, added: Sequence[str]) -> Sequence[str]:
    """Add one line, such as ``It is Friday, 2027-01-15 09:00+01:00.``"""
    return [*added, _line(host.clock.now(), host.section(Now).zone)]


def _line(seconds: float, zone: str) -> str:
    from datetime import UTC, datetime
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        moment = datetime.fromtimestamp(seconds, UTC).astimezone(ZoneInfo(zone) if zone else None)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ConfigError(
            f"plugins.now.zone: {zone!r} is not a known zone.",
            key="plugins.now.zone",
            hint="Use an IANA name such as Europe/Vienna; on Windows install tzdata.",
        ) from error
    return f"It is {moment:%A}, {moment.isoformat(sep=' ', timespec='minutes')}."


@hookimpl
def hermes_register_config() -> list[ConfigSection]:
    """The zone."""
    return [ConfigSection(name="now", schema=Now)]
