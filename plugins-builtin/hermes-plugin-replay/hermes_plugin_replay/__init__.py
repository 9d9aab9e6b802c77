"""Keeps the events of sessions, where that is switched on; ``hermes replay`` stands in ``command.py``.

Nothing is kept by default: the messages are in the store already, and a second copy of what was said is
one more that has to be looked after. What is kept is masked as the logs are (``keeping.py``).
"""

from __future__ import annotations

from collections.abc import Sequence

from hermes_plugins import ConfigSection, Event, Host, SessionInfo, hookimpl


class Keeper:
    """One per host; holds the text that is being streamed."""

    def __init__(self) -> None:
        self._open: dict[str, list[Event]] = {}

    @hookimpl
    def hermes_register_config(self) -> list[ConfigSection]:
        from .settings import Settings

        return [ConfigSection(name="replay", schema=Settings)]

    @hookimpl
    async def hermes_on_session_start(self, host: Host) -> None:
        from .settings import Settings

        if (settings := host.section(Settings)).keep:
            from .keeping import prune

            await prune(host, most=settings.megabytes * 1_000_000)

    @hookimpl
    async def hermes_on_events(
        self, host: Host, events: Sequence[Event], session: SessionInfo
    ) -> None:
        from .settings import Settings

        if host.section(Settings).keep:
            from .keeping import append

            append(host, session.id, events, self._open.setdefault(session.id, []))
