"""Finding plugins: entry points become `Found` values, nothing is imported for it.

The only file that imports stevedore. A start that finds a valid cache imports neither stevedore nor
importlib.metadata (together about 110 ms): the table of entry points comes from
``HERMES_HOME/cache/found.json``, keyed on the modification times of the folders on sys.path and of
the plugin folders, and on the kit's version. stevedore runs on a miss, and for ``hermes plugins``.

What stevedore 5.10 does not do is done here: duplicates that are not neighbours are seen, an entry
point's distribution and version are known, more folders than sys.path are searched, and one broken
distribution does not hide the others.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import msgspec

from hermes_core import __version__

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

HOST_DISTRIBUTION = "hermes-host"


def groups() -> tuple[str, ...]:
    """Every entry-point group, those of plugins first. With a valid cache nobody asks, and the
    hooks (with pluggy some 40 ms) stay unimported."""
    from hermes_core.hookspecs import DRIVER_GROUPS, HONOURED

    return (*HONOURED, *sorted(DRIVER_GROUPS))


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


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """A distribution that was left out, and why. ``plugin`` is its name as far as it is known."""

    plugin: str
    text: str
    hint: str = ""


class _Cache(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    found: tuple[Found, ...]
    unread: tuple[Unread, ...] = ()


class _PluginFolder(str):
    """A folder that a host put on sys.path: not a place where another host looks for plugins."""

    __slots__ = ()


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
        self.unread: tuple[Unread, ...] = ()
        """What `find` left out."""

    def find(self, *, fresh: bool = False) -> tuple[Found, ...]:
        """Every entry point of every group, each once, by group and name."""
        key = self._key()
        cached = None if fresh else _read_cache(self._cache_file, key)
        self.from_cache = cached is not None
        if cached is None:
            cached = self._search(key)
            _write_cache(self._cache_file, cached)
        self.unread = cached.unread
        return (*cached.found, *_from_modules(self._modules), *self._from_objects())

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
        for folder in (*_import_folders(), *self._plugin_folders()):
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

    def _search(self, key: str) -> _Cache:
        """Read every distribution; the first of a name counts, installed ones before folders."""
        builtin = _builtin_distributions()
        places = [(_import_folders(), "installed")]
        places += [([path], "folder") for path in self._plugin_folders()]
        found: list[Found] = []
        unread: list[Unread] = []
        first: dict[str, tuple[Path, str]] = {}
        for folders, source in places:
            for distribution in _distributions(folders):
                location = folders[0] if source == "folder" else ""
                read = _read(distribution, source, location, builtin)
                if isinstance(read, Unread):
                    unread.append(read)
                    continue
                if not read:
                    continue
                here = _folder_of(distribution)
                place, version = first.setdefault(read[0].distribution, (here, read[0].version))
                if place == here:
                    found += read
                elif location:
                    text = f"{here} is not used: {version} of it is in {place.parent}"
                    unread.append(Unread(plugin=read[0].plugin, text=text))
        order = {group: position for position, group in enumerate(groups())}
        return _Cache(
            key=key,
            found=tuple(
                sorted(
                    dict.fromkeys(found), key=lambda one: (order[one.group], one.name, one.value)
                )
            ),
            unread=tuple(unread),
        )


def _import_folders() -> list[str]:
    """sys.path without the working directory and without what a host added to it."""
    return [path for path in sys.path if path and not isinstance(path, _PluginFolder)]


def _distributions(folders: Sequence[str]) -> Iterator[Distribution]:
    from importlib.metadata import distributions

    seen: set[str] = set()
    for distribution in distributions(path=list(folders)):
        where = str(_folder_of(distribution))
        if where not in seen:
            seen.add(where)
            yield distribution


def _read(
    distribution: Distribution, source: str, location: str, builtin: Mapping[str, bool]
) -> list[Found] | Unread:
    """What one distribution offers. Whoever offers nothing to Hermes is not read any further."""
    try:
        points = _listed(distribution)
        if not points:
            return []
        facts = distribution.metadata
        name = _normal(next(iter(facts.get_all("Name") or ()), ""))
        version = next(iter(facts.get_all("Version") or ()), "")
        requires = _host_requirement(distribution.requires or ())
    except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        return _unread(distribution, f"cannot be read ({type(error).__name__}: {error})")
    if not name:
        return _unread(distribution, "has no name in its METADATA")
    return [
        Found(
            name=point.name,
            group=point.group,
            value=point.value,
            distribution=name,
            version=version,
            source=source,
            location=location,
            builtin=source == "installed" and name in builtin,
            default=source == "installed" and builtin.get(name, False),
            requires_host=requires,
        )
        for point in points
    ]


def _listed(distribution: Distribution) -> list[EntryPoint]:
    """A distribution's entry points in our groups, through stevedore; none of them is imported.

    stevedore is given what stands in the distribution's own file: the cache it would use instead lies
    in the owner's home, and its 32-bit times miss changes for two minutes.
    """
    ours: dict[str, list[EntryPoint]] = {}
    known = groups()
    for point in distribution.entry_points:
        if point.group in known:
            ours.setdefault(point.group, []).append(point)
    if not ours:
        return []
    from stevedore import NamedExtensionManager

    class Points(NamedExtensionManager[object]):
        ENTRY_POINT_CACHE = ours

    managers = [
        Points(group, names=[], on_missing_entrypoints_callback=None) for group in sorted(ours)
    ]
    return [point for manager in managers for point in manager.list_entry_points()]


def _unread(distribution: Distribution, reason: str) -> Unread:
    folder = _folder_of(distribution)
    name = _normal(folder.name.partition("-")[0]).removeprefix("hermes-plugin-")
    return Unread(
        plugin=name, text=f"{folder} {reason}", hint="Install it again, or remove that folder."
    )


def _folder_of(distribution: Distribution) -> Path:
    """Its ``.dist-info`` folder, where it has one."""
    return Path(str(getattr(distribution, "_path", "") or distribution.locate_file("")))


def _normal(name: str) -> str:
    """PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower().strip("-")


def _host_requirement(requires: Iterable[str]) -> str:
    """The version range of hermes-host that a distribution asks for, such as ``>=0.1,<2``."""
    for line in requires:
        requirement, _, marker = line.partition(";")
        if _requirement_name(requirement) == HOST_DISTRIBUTION and "extra" not in marker:
            versions = requirement.strip()[len(HOST_DISTRIBUTION) :]
            return versions.rpartition("]")[2].strip(" ()")
    return ""


def _builtin_distributions() -> Mapping[str, bool]:
    """The plugins that hermes-host's own extras name, and whether ``default`` or ``vendors`` does.

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
            is_default = bool({"default", "vendors"} & set(marker.replace('"', "'").split("'")))
            found[name] = found.get(name, False) or is_default
    return found


def _requirement_name(requirement: str) -> str:
    name = requirement
    for mark in "[<>=!~ (@":
        name = name.partition(mark)[0]
    return _normal(name.strip())


def _from_modules(modules: Sequence[str]) -> Iterable[Found]:
    """``--plugin MODULE``: a module offers itself to every plugin group, under its own name."""
    for module in modules:
        from hermes_core.hookspecs import HONOURED

        name = module.rpartition(".")[2].removeprefix("hermes_plugin_").replace("_", "-")
        for group in HONOURED:
            yield Found(
                name=name, group=group, value=module, distribution="", version="", source="module"
            )


def _read_cache(file: Path, key: str) -> _Cache | None:
    try:
        cache = msgspec.json.decode(file.read_bytes(), type=_Cache)
    except (OSError, msgspec.MsgspecError):
        return None
    return cache if cache.key == key else None


def _write_cache(file: Path, cache: _Cache) -> None:
    """Replace the cache whole; a home that cannot be written only costs the next start some time."""
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        # The home is made by whoever comes first, and is its owner's alone.
        file.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.parent.mkdir(exist_ok=True)
        draft.write_bytes(msgspec.json.encode(cache))
        os.replace(draft, file)
    except OSError:
        with suppress(OSError):
            draft.unlink()


def load_target(found: Found) -> object:
    """Import what an entry point names; only now is a plugin's own folder put on sys.path.

    Raises:
        ImportError: the module of that name is another one's.
        Exception: whatever the import raises.
    """
    from importlib import import_module

    if found.source == "folder" and found.location not in sys.path:
        sys.path.append(_PluginFolder(found.location))
    module: ModuleType = import_module(found.module)
    file = getattr(module, "__file__", None) or found.location
    if found.source == "folder" and not _is_inside(file, found.location):
        raise ImportError(f"{found.module} is also the name of {file}, which is loaded instead")
    attribute = found.value.partition(":")[2].split("[")[0].strip()
    target: object = module
    for part in filter(None, attribute.split(".")):
        target = getattr(target, part)
    return target


def _is_inside(file: str, folder: str) -> bool:
    place = Path(os.path.realpath(file))
    return place.is_relative_to(os.path.realpath(folder))
