"""The handle a plugin gets: the only way from a plugin to the kernel.

A hook names an argument ``host`` to receive its own handle; a driver gets it in its constructor.
Session state lives in ``ToolContext.state``, never in module globals, because several hosts may live
in one process.
"""

from __future__ import annotations

import logging
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from hermes_plugins._clock import Clock
from hermes_plugins._config import Section
from hermes_plugins._http import HttpClient
from hermes_plugins._store import Records, SessionReader

S = TypeVar("S", bound=Section)


class Paths(msgspec.Struct, frozen=True, kw_only=True):
    """Folders of this home; all absolute. They are made when something is written."""

    home: Path
    cache: Path
    logs: Path

    @property
    def memories(self) -> Path:
        """MEMORY.md and USER.md."""
        return self.home / "memories"

    @property
    def skills(self) -> Path:
        """Skill packs of the owner."""
        return self.home / "skills"


class Tasks(Protocol):
    """Supervised background tasks; they end with the host."""

    def start(self, name: str, coro: Coroutine[object, object, None]) -> None:
        """Run ``coro`` in the background; an exception is reported under the plugin's name."""


class Host(Protocol):
    """What a plugin may ask of its host."""

    plugin: str
    paths: Paths
    log: logging.Logger
    clock: Clock
    http: HttpClient
    sessions: SessionReader
    tasks: Tasks

    def section(self, schema: type[S]) -> S:
        """The plugin's own settings, typed.

        Raises:
            ConfigError: a value does not fit; names file, line and key.
        """

    async def services(self, family: str) -> Sequence[object]:
        """The services of a family that are installed and enabled, in the host's rank."""

    def records(self, namespace: str) -> Records:
        """Kept values under ``PLUGIN.namespace``."""

    def secret(self, name: str) -> str:
        """The value of a variable that the plugin's `ConfigSection` names in ``env``; "" if unset.

        From the environment, or .env of the home. Never log it or put it into a result.

        Raises:
            PluginError: the plugin does not declare that name.
        """

    def redact(self, text: str) -> str:
        """``text`` as the logs keep it: what is, or looks like, a secret is masked."""

    def child_environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Variables for a child process: no name that holds a secret, except what
        ``terminal.env_passthrough`` lists."""


class PromptSection(msgspec.Struct, frozen=True, kw_only=True):
    """Text for the system prompt, built once a session.

    ``tier`` orders it: ``stable`` is the same for every session of a configuration, ``context``
    depends on the folder, ``volatile`` on the day. ``render`` gets a `PromptContext`.
    """

    id: str
    tier: str
    render: Renderer


class PromptContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a prompt section may depend on."""

    workspace: str
    face: str
    toolsets: tuple[str, ...]
    now: float
    host: Host


class Renderer(Protocol):
    """Renders a prompt section; "" leaves it out."""

    def __call__(self, context: PromptContext, /) -> str:
        """The text."""
