"""Commands: what a click command of the group ``hermes.commands`` may use.

Such a command gets its `CommandHost` with ``@click.pass_obj``. It is one shot: it reads or edits what
stands in the home and ends. ``async with commands.open() as face`` gives it the running kernel where
it needs more than files: sessions, providers, a turn of its own. A second command of the same plugin
is a second entry point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Protocol

import msgspec

from hermes_plugins._clock import Clock
from hermes_plugins._doctor import Inspection
from hermes_plugins._faces import FaceHost
from hermes_plugins._host import Paths
from hermes_plugins._installer import PackageInstaller
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

    def set_all(self, values: Mapping[str, Json]) -> Sequence[Path]:
        """Write several settings and variables, or none; returns the files that were written.

        None removes a setting. Removals come first, then the order of ``values``.

        Raises:
            UsageError: as `set`. Whatever was written before is as it was.
        """

    def check(self, key: str, value: Json) -> str:
        """What keeps a value from being set, in a line; "" where nothing does. Writes nothing."""

    def unset(self, key: str) -> bool:
        """Remove a setting or a variable; False when it was not set.

        Raises:
            UsageError: as `set`.
        """

    def holds(self, variable: str) -> str:
        """Where a variable has a value: ``environment``, ``.env`` or "" for nowhere."""

    def keep(self, variable: str) -> Path:
        """Write the value that a variable has in the environment to .env, and return that file.

        Raises:
            UsageError: it has none there, or as `set`.
        """

    def variables(self, file: Path) -> Mapping[str, str]:
        """What another file of ``NAME=value`` lines holds; nothing where it cannot be read."""

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

    def open(
        self, values: Mapping[str, Json] | None = None
    ) -> AbstractAsyncContextManager[FaceHost]:
        """The running kernel, its plugins not loaded yet; leaving ends it.

        ``values`` count as if they were set, over everything else, for this time.

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

    def inspect(self, *, scratch: Path | None = None) -> AbstractAsyncContextManager[Inspection]:
        """As `open`, for looking at what is wrong: settings that are wrong count as not set.

        With ``scratch``, sessions work in that folder and are kept there, not in the home.

        Raises:
            HermesError: the home cannot be used.
        """

    def redact(self, text: str) -> str:
        """``text`` with everything masked that looks like a secret or is one of this home."""

    def gateways(self) -> Mapping[str, int]:
        """Gateways that run now, by the profile that they serve ("" is the home itself): their process
        ids, 0 where that is not known."""

    def installer(self) -> PackageInstaller:
        """What installs into the environment that this process runs in.

        Raises:
            UsageError: neither pip nor uv is there.
        """
