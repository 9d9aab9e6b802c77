"""Finding plugins: entry points become `Found` values, nothing is imported for it.

The only file that imports stevedore. A start that finds a valid cache imports neither stevedore nor
importlib.metadata (together about 110 ms): the table of entry points comes from
``HERMES_HOME/cache/found.json``, keyed on the modification times of the folders on sys.path and of
the plugin folders, and on the kit's version. stevedore runs on a miss, and for ``hermes plugins``.

Three things stevedore 5.10 does not do are done here: duplicates that are not neighbours are seen,
an entry point's distribution and version are known, and more folders than sys.path are searched.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

import msgspec

from hermes_core import __version__
from hermes_core.hookspecs import DRIVER_GROUPS, HONOURED

HOST_DISTRIBUTION = "hermes-host"
GROUPS = (*HONOURED, *sorted(DRIVER_GROUPS))


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One entry point. ``value`` is its target (``module`` or ``module:attribute``).

    ``source`` is ``installed``, ``folder`` (with ``location``), ``module`` (``--plugin``) or
    ``object`` (handed over by a test or an embedder).
    ``builtin`` means that hermes-host's own extras name the distribution, ``default`` that the extra
    of that name does: those are on without being asked for.
    """

    name: str
    group: str
    value: str
    distribution: str
    version: str
    source: str = "installed"
    location: str = ""
    builtin: bool = False
    default: bool = False
    requires_host: str = ""

    @property
    def plugin(self) -> str:
        """The plugin's name: its distribution without the prefix, or the entry point's name."""
        return self.distribution.removeprefix("hermes-plugin-") or self.name

    @property
    def module(self) -> str:
        """The module to import."""
        return self.value.partition(":")[0].strip()


class _Cache(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    found: tuple[Found, ...]


class Discovery:
    """What is installed, as far as names go."""

    def __init__(
        self,
        *,
        cache_file: Path,
        folders: Sequence[Path] = (),
        modules: Sequence[str] = (),
        objects: Mapping[tuple[str, str], object] | None = None,
    ) -> None:
        self._cache_file = cache_file
        self._folders = tuple(folders)
        self._modules = tuple(modules)
        self._objects = dict(objects or {})
        self.from_cache = False

    def find(self, *, fresh: bool = False) -> tuple[Found, ...]:
        """Every entry point of every group, each once, by group and name."""
        key = self._key()
        cached = None if fresh else _read_cache(self._cache_file, key)
        self.from_cache = cached is not None
        found = cached if cached is not None else self._search()
        if cached is None:
            _write_cache(self._cache_file, _Cache(key=key, found=found))
        for folder in {item.location for item in found if item.source == "folder"}:
            if folder not in sys.path:
                sys.path.append(folder)
        return (*found, *_from_modules(self._modules), *self._from_objects())

    def load(self, found: Found) -> object:
        """Import what an entry point names.

        Raises:
            Exception: whatever the import raises.
        """
        if found.source == "object":
            return self._objects[found.group, found.name]
        return load_target(found)

    def _from_objects(self) -> Iterable[Found]:
        """Plugins and drivers handed over as they are, by group and name: for tests and embedders."""
        for (group, name), target in self._objects.items():
            yield Found(
                name=name,
                group=group,
                value=f"object-{id(target):x}",
                distribution="",
                version="",
                source="object",
                default=True,
            )

    def _key(self) -> str:
        stamps = [__version__, sys.version.split()[0]]
        for folder in (*sys.path, *self._plugin_folders()):
            if not folder:
                continue
            try:
                stamps.append(f"{folder}={os.stat(folder).st_mtime_ns}")
            except OSError:
                stamps.append(folder)
        return "|".join(stamps)

    def _plugin_folders(self) -> list[str]:
        """Folders with distributions in them: each plugin folder and its direct children."""
        folders: list[str] = []
        for root in self._folders:
            try:
                with os.scandir(root) as entries:
                    children = sorted(entry.path for entry in entries if entry.is_dir())
            except OSError:
                continue
            folders += [str(root), *children]
        return folders

    def _search(self) -> tuple[Found, ...]:
        builtin = _builtin_distributions()
        places = [(path, "installed") for path in [""]]
        places += [(path, "folder") for path in self._plugin_folders()]
        seen: dict[tuple[str, str, str], Found] = {}
        for path, source in places:
            for item in _entry_points(path, source, builtin):
                seen.setdefault((item.group, item.name, item.value), item)
        wanted = {group: position for position, group in enumerate(GROUPS)}
        return tuple(
            sorted(seen.values(), key=lambda item: (wanted[item.group], item.name, item.value))
        )


def _entry_points(path: str, source: str, builtin: Mapping[str, bool]) -> Iterable[Found]:
    """Entry points of the distributions in ``path``; "" means sys.path, where stevedore looks."""
    from importlib.metadata import distributions

    known = None if path else _stevedore_names()
    for distribution in distributions(path=[path]) if path else distributions():
        points = distribution.entry_points
        for point in points:
            if point.group not in GROUPS:
                continue
            if known is not None and (point.group, point.name, point.value) not in known:
                continue
            name = (distribution.metadata["Name"] or "").lower().replace("_", "-")
            yield Found(
                name=point.name,
                group=point.group,
                value=point.value,
                distribution=name,
                version=distribution.version,
                source=source,
                location=path,
                builtin=source == "installed" and name in builtin,
                default=source == "installed" and builtin.get(name, False),
                requires_host=_host_requirement(distribution.requires or []),
            )


def _stevedore_names() -> set[tuple[str, str, str]]:
    """What stevedore finds on sys.path; naming no plugin keeps it from importing any."""
    from stevedore import NamedExtensionManager

    names: set[tuple[str, str, str]] = set()
    for group in GROUPS:
        manager: NamedExtensionManager[object] = NamedExtensionManager(
            group, names=[], on_missing_entrypoints_callback=None
        )
        names |= {(group, point.name, point.value) for point in manager.list_entry_points()}
    return names


def _host_requirement(requires: Iterable[str]) -> str:
    """The version range of hermes-host that a distribution asks for, such as ``>=0.1,<2``."""
    for line in requires:
        requirement, _, marker = line.partition(";")
        if _requirement_name(requirement) == HOST_DISTRIBUTION and "extra" not in marker:
            versions = requirement.strip()[len(HOST_DISTRIBUTION) :]
            return versions.rpartition("]")[2].strip(" ()")
    return ""


def _builtin_distributions() -> Mapping[str, bool]:
    """The plugins that hermes-host's own extras name, and whether ``default`` does.

    The prefix of a name means nothing: it is free for everybody.
    """
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires(HOST_DISTRIBUTION) or []
    except PackageNotFoundError:
        return {}
    found: dict[str, bool] = {}
    for line in lines:
        requirement, _, marker = line.partition(";")
        name = _requirement_name(requirement)
        if name.startswith("hermes-plugin-"):
            is_default = "default" in marker.replace('"', "'").split("'")
            found[name] = found.get(name, False) or is_default
    return found


def _requirement_name(requirement: str) -> str:
    name = requirement
    for mark in "[<>=!~ (@":
        name = name.partition(mark)[0]
    return name.strip().lower().replace("_", "-")


def _from_modules(modules: Sequence[str]) -> Iterable[Found]:
    """``--plugin MODULE``: a module offers itself to every plugin group, under its own name."""
    for module in modules:
        name = module.rpartition(".")[2].removeprefix("hermes_plugin_").replace("_", "-")
        for group in HONOURED:
            yield Found(
                name=name, group=group, value=module, distribution="", version="", source="module"
            )


def _read_cache(file: Path, key: str) -> tuple[Found, ...] | None:
    try:
        cache = msgspec.json.decode(file.read_bytes(), type=_Cache)
    except (OSError, msgspec.MsgspecError):
        return None
    return cache.found if cache.key == key else None


def _write_cache(file: Path, cache: _Cache) -> None:
    """Replace the cache whole; a home that cannot be written only costs the next start some time."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f"{file.name}.{os.getpid()}")
        draft.write_bytes(msgspec.json.encode(cache))
        os.replace(draft, file)
    except OSError:
        pass


def load_target(found: Found) -> object:
    """Import what an entry point names.

    Raises:
        Exception: whatever the import raises.
    """
    from importlib import import_module

    module: ModuleType = import_module(found.module)
    attribute = found.value.partition(":")[2].split("[")[0].strip()
    target: object = module
    for part in filter(None, attribute.split(".")):
        target = getattr(target, part)
    return target
