"""The installer of the environment that Hermes runs in: pip or uv, as a command sees it. Provisional."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec


class PlannedPackage(msgspec.Struct, frozen=True, kw_only=True):
    """A distribution that would be installed or changed; ``before`` is "" for a new one, ``version``
    where the installer does not tell it. ``breaks`` are installed ones that ask for another version."""

    name: str
    version: str
    before: str = ""
    breaks: tuple[str, ...] = ()


class PackageInstaller(Protocol):
    """Works on this environment; the secrets of this process are out of its sight."""

    @property
    def name(self) -> str:
        """``pip`` or ``uv``."""

    def plan_update(self, requirements: Sequence[str]) -> Sequence[PlannedPackage]:
        """What bringing these up to date would change, asked without doing it.

        Raises:
            HermesError: the index cannot be reached, or no set of versions fits.
        """

    def update(self, requirements: Sequence[str]) -> None:
        """Bring them up to date; other packages change only where these need it.

        Raises:
            HermesError: the installer failed.
        """

    def reinstall(self, requirements: Sequence[str]) -> None:
        """Put exactly these into place again, whatever is there, and nothing that they need.

        Raises:
            HermesError: the installer failed.
        """
