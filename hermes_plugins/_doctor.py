"""Doctor: what a plugin says of its own health, and what ``hermes doctor`` may ask of the kernel.

A plugin names its checks in ``hermes_register_doctor``. A finding says what is the case in ``text`` and
the command that mends exactly that in ``hint``. Provisional until a second command inspects.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from hermes_plugins._faces import FaceHost
from hermes_plugins._host import Host

Level: TypeAlias = Literal["ok", "info", "warn", "fail"]
"""All is well; good to know; works, but not as it should; does not work."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a check found.

    ``text`` is one line: what is the case, and for whom that matters. ``hint`` is what mends it, a
    command where there is one. ``fix`` mends it without asking and returns one line of what it did;
    only what loses nothing belongs there. It may raise `HermesError`.
    """

    level: Level
    text: str
    hint: str = ""
    fix: Callable[[], Awaitable[str]] | None = None


class DoctorCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One check. ``id`` begins with the plugin's name, such as ``irc.settings``; ``title`` is one or
    two words.

    ``run`` gets the plugin's own handle. It changes nothing, and has ``seconds`` for it; where it
    raises or takes longer, that is a finding of its own.
    """

    id: str
    title: str
    run: Callable[[Host], Awaitable[Sequence[Finding]]]
    seconds: float = 10.0


class PluginState(msgspec.Struct, frozen=True, kw_only=True):
    """An installed plugin, or one that is only named in the settings.

    ``state`` is on, off, failed or missing; ``reason`` is why, and ``hint`` what to do about it.
    ``offers`` are its entry points as ``group:name``, the group without ``hermes.``.
    """

    name: str
    state: str
    distribution: str = ""
    version: str = ""
    reason: str = ""
    hint: str = ""
    offers: tuple[str, ...] = ()


class Inspection(Protocol):
    """The kernel as far as it can be brought up: settings that are wrong count as not set."""

    face: FaceHost

    async def plugins(self) -> Sequence[PluginState]:
        """Every plugin, by name; those that are on are loaded for it."""

    async def store(self) -> Sequence[Finding]:
        """What there is to say of the session store; a store that cannot be opened is a finding."""

    async def unsent(self) -> tuple[int, int]:
        """Messages of chat platforms that wait for an answer, and answers that wait to be sent."""

    async def checks(self) -> Sequence[tuple[str, DoctorCheck]]:
        """The checks of the plugins that are on, each behind its plugin's name, in their rank."""

    async def run(self, plugin: str, check: DoctorCheck) -> Sequence[Finding]:
        """What a check finds; what goes wrong in it is a finding too."""
