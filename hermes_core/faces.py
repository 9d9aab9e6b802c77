"""The kernel as a shell sees it: the kit's `FaceHost` on a runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from hermes_core.agent.agent import Session
from hermes_core.runtime import Runtime
from hermes_core.slash import kernel_commands
from hermes_plugins._faces import SessionWish, SlashCommand
from hermes_plugins._host import Host
from hermes_plugins._store import SessionReader


class RuntimeFace:
    """Implements the kit's `FaceHost` for one shell."""

    def __init__(self, runtime: Runtime, plugin: str) -> None:
        self._runtime = runtime
        self.host: Host = runtime.handle(plugin)
        self.sessions: SessionReader = runtime.store
        self.display = cast(
            "Mapping[str, object]", msgspec.to_builtins(runtime.config.settings.display)
        )

    async def open(self, wish: SessionWish) -> Session:
        return await self._runtime.open_session(wish)

    def notices(self) -> Sequence[str]:
        problems = self._runtime.host.problems
        return [
            *self._runtime.config.notes,
            *(f"{one.plugin}: {one.text} {one.hint}".strip() for one in problems),
        ]

    def commands(self) -> Sequence[SlashCommand]:
        """The kernel's own win: a plugin cannot take ``/quit`` away."""
        own = kernel_commands(self._runtime)
        taken = {name for one in own for name in (one.name, *one.aliases)}
        others = [
            command
            for loaded in self._runtime.host.loaded.values()
            for command in loaded.slash_commands
            if not taken & {command.name, *command.aliases}
        ]
        return sorted([*own, *others], key=lambda one: one.name)
