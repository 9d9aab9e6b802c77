"""Commands: what a click command of the group ``hermes.commands`` may use. Provisional until two use it.

Such a command gets its `CommandHost` with ``@click.pass_obj``. It is one shot: it reads or edits what
stands in the home and ends. ``async with commands.open() as face`` gives it the running kernel where
it needs more than files: sessions, providers, a turn of its own. A second command of the same plugin
is a second entry point.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Protocol

import msgspec

from hermes_plugins._clock import Clock
from hermes_plugins._faces import FaceHost
from hermes_plugins._host import Paths
from hermes_plugins._messages import Json


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """The value of a setting that counts; secrets are shown as ``********``.

    ``layer`` is where it was written: default, user, project, environment or call; ``file`` and
    ``line`` where that is a file.
    """

    key: str
    value: Json
    layer: str = "default"
    file: str = ""
    line: int = 0


class SettingsFile(Protocol):
    """hermes.yaml and .env of the home: read through their layers, edited in place.

    Not to be called while an event loop runs: before ``asyncio.run`` or after it.
    """

    file: Path
    """hermes.yaml; it need not exist."""

    def get(self, key: str) -> Setting:
        """One setting.

        Raises:
            UsageError: there is no such setting.
            ConfigError: a file is broken.
        """

    def set(self, key: str, value: Json) -> Path:
        """Write a setting, comments and order kept, and return the file that holds it.

        A name in capitals that a plugin declares goes to .env.

        Raises:
            UsageError: the key is unknown, the value does not fit, or the file is broken or cannot be
                written. Nothing was changed.
        """

    def unset(self, key: str) -> bool:
        """Remove a setting or a variable; False when it was not set.

        Raises:
            UsageError: as `set`.
        """

    def holds(self, variable: str) -> str:
        """Where a variable has a value: ``environment``, ``.env`` or "" for nowhere."""

    def problems(self) -> Sequence[str]:
        """What `hermes config check` says, a line each; never raises for a broken file."""

    def copy(self) -> Path | None:
        """Keep hermes.yaml as a dated copy beside it; None where there is none.

        Raises:
            UsageError: the copy cannot be written.
        """


class CommandHost(Protocol):
    """What a command of a plugin may ask of the kernel."""

    plugin: str
    version: str
    """Of hermes-host."""
    paths: Paths
    clock: Clock
    root: Path
    """The home without a profile; ``profiles/NAME`` below it are homes of their own."""
    profile: str
    """The profile that this call works on; "" is the home itself."""
    chosen_profile: str
    """The profile that is used where none is named; "" is the home itself."""
    settings: SettingsFile

    def redact(self, text: str) -> str:
        """As `Host.redact`; works in a home whose settings are broken too."""

    def choose_profile(self, name: str) -> None:
        """Use that profile where none is named from now on; "" is the home itself.

        Raises:
            UsageError: there is no such profile, or the choice cannot be written.
        """

    def alone(self, home: Path | None = None) -> AbstractContextManager[None]:
        """Keep others out of ``home`` (this call's): no gateway runs in it meanwhile.

        Raises:
            UsageError: a gateway runs in it, a session is open, or another command has it; who.
        """

    def open(self) -> AbstractAsyncContextManager[FaceHost]:
        """The running kernel, its plugins not loaded yet; leaving ends it.

        Raises:
            ConfigError: the settings cannot be read.
            HermesError: the home cannot be used.
        """

    async def copy_state(self, target: Path, *, home: Path | None = None) -> None:
        """Write a consistent copy of everything in the store of ``home`` (this call's) to ``target``,
        while others write.

        Raises:
            StoreError: there is nothing to copy, or it cannot be read or written.
        """
