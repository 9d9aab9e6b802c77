"""What provider plugins declared the last time they were loaded, so that a start imports only one.

Choosing a model needs the facts of all providers (hosts, variables, aliases); using one needs only
that one's plugin. The facts stand in ``cache/declared.json`` with the path and modification time of
the module that they came from; a changed module, another version or a missing file is a miss.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from hermes_core.discovery import Found
from hermes_core.paths import write_whole
from hermes_plugins._errors import HermesError
from hermes_plugins._providers import ProviderProfile

_CODE_FIELDS = ("auth", "request_extras", "parse_models", "classify")


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of one plugin, without what is code."""

    file: str
    modified: int
    version: str
    providers: tuple[ProviderProfile, ...]


class Declarations:
    """Reads the kept facts, and keeps new ones."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: dict[str, Declared] | None = None

    def of(self, found: Found) -> tuple[ProviderProfile, ...] | None:
        """The facts of a plugin, None where it has to be asked."""
        kept = self._read().get(found.value)
        if kept is None or found.source == "object" or kept.version != found.version:
            return None
        try:
            unchanged = os.stat(kept.file).st_mtime_ns == kept.modified
        except OSError:
            return None
        return kept.providers if unchanged else None

    def profiles(self) -> tuple[ProviderProfile, ...]:
        """Every provider that is remembered, whether or not its plugin is still as it was."""
        return tuple(one for kept in self._read().values() for one in kept.providers)

    def keep(self, declared: Iterable[tuple[Found, tuple[ProviderProfile, ...]]]) -> None:
        """Remember the facts of plugins that have just been loaded."""
        known = dict(self._read())
        for found, providers in declared:
            file = getattr(sys.modules.get(found.module), "__file__", None)
            if file is None:
                continue
            known[found.value] = Declared(
                file=file,
                modified=os.stat(file).st_mtime_ns,
                version=found.version,
                providers=tuple(map(_without_code, providers)),
            )
        if known != self._read():
            self._known = known
            try:
                write_whole(self._file, msgspec.json.encode(known))
            except HermesError:
                pass  # a home that cannot be written only costs the next start some time

    def _read(self) -> Mapping[str, Declared]:
        if self._known is None:
            try:
                self._known = msgspec.json.decode(self._file.read_bytes(), type=dict[str, Declared])
            except (OSError, msgspec.MsgspecError):
                self._known = {}
        return self._known


def _without_code(profile: ProviderProfile) -> ProviderProfile:
    return msgspec.structs.replace(profile, **dict.fromkeys(_CODE_FIELDS))
