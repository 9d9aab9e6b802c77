"""Installing and removing plugins by the full name of their distribution.

What an install would do is asked first, without doing it. Anything that would change a package which
is already there is refused, so a plugin cannot move Hermes' own dependencies. An environment that
cannot be written, or that belongs to the system, is left alone: the plugin then goes, with what it
needs beyond the environment, into ``HERMES_HOME/plugins/DISTRIBUTION``.
"""

from __future__ import annotations

import os
import re
import shutil
import sysconfig
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Final

from hermes_core.cli.installer import (
    Installer,
    Planned,
    find_installer,
    is_environment_writable,
    normal_name,
)
from hermes_core.discovery import HOST_DISTRIBUTION, groups
from hermes_plugins import Paths, UsageError

_NAME: Final = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VERSION: Final = r"\s*(?:===|~=|==|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+\s*"
# PEP 508 without its URLs and markers: those are another way to say where code comes from.
_REQUIREMENT: Final = re.compile(
    rf"({_NAME})\s*(?:\[\s*{_NAME}(?:\s*,\s*{_NAME})*\s*\])?\s*({_VERSION}(?:,{_VERSION})*)?"
)

INSTALLED_HERE: Final = "into this environment"
UNCHANGED: Final = "earlier; nothing was to be done"


def install_distribution(distribution: str, paths: Paths) -> str:
    """Install a distribution by its full name, or a folder (``./folder``); returns where it went.

    Raises:
        UsageError: the name is not a full one, there is no installer, or a package that is already
            there would be changed. Nothing was installed.
        HermesError: the installer failed; the message has its last words.
    """
    requirement = _requirement(distribution)
    installer = find_installer()
    plan = installer.plan(requirement, name=distribution_name(distribution))
    if not plan:
        return UNCHANGED
    _refuse_changes(distribution, plan)
    if is_environment_writable():
        installer.install(requirement)
        return INSTALLED_HERE
    return f"into {_install_beside(installer, requirement, plan, paths)}"


def distribution_name(distribution: str) -> str:
    """The name of what is asked for; a folder's stands in its pyproject.toml.

    Raises:
        UsageError: it is none, or the folder does not say.
    """
    requirement = _requirement(distribution)
    return _folder_name(requirement) if os.path.isabs(requirement) else _base_name(requirement)


def uninstall_distribution(distribution: str, paths: Paths) -> None:
    """Remove a plugin's distribution, from the home's folder or from the environment.

    Raises:
        UsageError: it is not installed, no plugin, or stands where nothing can be removed.
        HermesError: the installer failed.
    """
    name = _base_name(distribution)
    folder = paths.home / "plugins" / name
    if not folder.is_symlink() and _in_folder(folder, name) is not None:
        shutil.rmtree(folder)
        return
    _check_is_plugin(name)
    if not is_environment_writable():
        raise UsageError(
            f"{name} stands in {sysconfig.get_path('purelib')}, which cannot be written.",
            hint=f"`hermes plugins disable {name.removeprefix('hermes-plugin-')}` switches it off.",
        )
    find_installer().uninstall(name)


def about(distribution: str, paths: Paths) -> str:
    """What an installed distribution says of itself and who made it, in one line; "" if unknown."""
    name = _base_name(distribution)
    found = _in_folder(paths.home / "plugins" / name, name) or _installed(name)
    if found is None:
        return ""
    facts = found.metadata.json
    author = facts.get("author") or facts.get("author_email") or "author not told"
    return ", ".join(str(fact) for fact in (facts.get("summary"), author) if fact)


def _requirement(text: str) -> str:
    """What was asked for as the installer takes it; a folder as its absolute path.

    Raises:
        UsageError: it is a URL, an option, or a name that is not a full one.
    """
    text = text.strip()
    if text.startswith(("./", "../", ".\\", "..\\")) or os.path.isabs(text):
        folder = Path(text).resolve()
        if not folder.is_dir():
            raise UsageError(
                f"there is no folder {folder}.",
                hint="`hermes plugins new NAME` writes a plugin to start from.",
            )
        return str(folder)
    match = _REQUIREMENT.fullmatch(text)
    if match is None:
        raise UsageError(
            f"{text!r} is not the name of a distribution.",
            hint="Give its full name, such as hermes-plugin-weather, or ./FOLDER.",
        )
    name, version = match.groups()
    if not (version or re.search(r"[-_.]", name)):
        raise UsageError(
            f"{name!r} is not a full name; on a package index it may be anybody's.",
            hint=f"`hermes plugins install hermes-plugin-{name}`, or with a version "
            f"(`{name}==1.0`) when it is really called that.",
        )
    return text


def _base_name(requirement: str) -> str:
    match = re.match(_NAME, requirement.strip())
    if match is None:
        raise UsageError(f"{requirement!r} is not the name of a distribution.")
    return normal_name(match[0])


def _folder_name(folder: str) -> str:
    import tomllib

    file = Path(folder) / "pyproject.toml"
    try:
        with open(file, "rb") as stream:
            return _base_name(str(tomllib.load(stream)["project"]["name"]))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"{file} does not name a distribution.",
            hint="Give the folder of a plugin: `hermes plugins new NAME` writes one.",
        ) from error


def _refuse_changes(asked: str, plan: Sequence[Planned]) -> None:
    """Raise when something that is here, other than what was asked for, would be changed."""
    clashes = [
        f"{one.name} {have.version} by {one.version}"
        for one in plan
        if not one.asked and (have := _installed(one.name)) and have.version != one.version
    ]
    if clashes:
        raise UsageError(
            f"{asked} would replace {', '.join(clashes)}, which Hermes or another plugin uses.",
            hint="Nothing was installed. Ask its author for a version that fits this Hermes.",
        )


def _install_beside(
    installer: Installer, requirement: str, plan: Sequence[Planned], paths: Paths
) -> Path:
    """Install into a folder of the home: made next to its place first, then moved there."""
    name = next(one.name for one in plan if one.asked)
    folder = paths.home / "plugins" / name
    draft = folder.with_name(f".{name}.new")
    others = [f"{one.name}=={one.version}" for one in plan if not one.asked]
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(draft, ignore_errors=True)
    try:
        installer.install_into(draft, [requirement, *others])
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def _installed(name: str) -> metadata.Distribution | None:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None


def _in_folder(folder: Path, name: str) -> metadata.Distribution | None:
    """The distribution of that name in a folder of the home, where an install beside put it."""
    found = metadata.distributions(path=[str(folder)]) if folder.is_dir() else ()
    return next((one for one in found if normal_name(one.metadata["Name"]) == name), None)


def _check_is_plugin(name: str) -> None:
    """Raise unless it is an installed plugin: nothing else is removed here."""
    found = _installed(name)
    if found is None:
        raise UsageError(
            f"{name} is not installed.", hint="`hermes plugins list` shows what is, by full name."
        )
    if name == HOST_DISTRIBUTION or not any(
        point.group in groups() for point in found.entry_points
    ):
        raise UsageError(f"{name} is no plugin.", hint="Remove it with pip or uv.")
