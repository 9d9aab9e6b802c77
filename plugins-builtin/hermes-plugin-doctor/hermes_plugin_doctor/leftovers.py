"""Traces of an update that was cut off: folders that pip had set aside, and two versions of one name."""

from __future__ import annotations

import re
import shutil
import sysconfig
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path
from typing import Final

import msgspec

# pip sets a folder aside by replacing the beginning of its name: "~", then more of these characters, as
# many in all as it takes away.
_ASIDE: Final = re.compile(
    r"~[-~.=%0-9]*(?:ermes|rmes|mes|es|s)_(?:core|host|plugins?)(?:[_.-].*)?"
)


class Traces(msgspec.Struct, frozen=True, kw_only=True):
    """``folders`` were set aside and forgotten; ``mixed`` says of a distribution what does not fit."""

    folders: tuple[Path, ...] = ()
    mixed: Mapping[str, str] = {}


def find(running: str) -> Traces:
    """What is there of Hermes and its plugins, in the environment of this process.

    ``running`` is the version that the code of hermes-host has of itself.
    """
    place = Path(sysconfig.get_path("purelib"))
    try:
        folders = [one for one in sorted(place.iterdir()) if _ASIDE.fullmatch(one.name)]
    except OSError:
        folders = []
    return Traces(folders=tuple(folders), mixed=_mixed(place, running))


def _mixed(place: Path, running: str) -> Mapping[str, str]:
    seen: dict[str, list[str]] = {}
    for one in distributions(path=[str(place)]):
        folder = Path(str(getattr(one, "_path", "")))
        name = folder.name.partition("-")[0].replace("_", "-").lower()
        if name == "hermes-host" or name.startswith("hermes-plugin-"):
            seen.setdefault(name, []).append(folder.name.split("-")[1].removesuffix(".dist"))
    mixed = {
        name: f"versions {' and '.join(sorted(versions))} are both there"
        for name, versions in sorted(seen.items())
        if len(versions) > 1
    }
    try:
        told = version("hermes-host")
    except PackageNotFoundError:
        return mixed
    if told != running:
        mixed.setdefault("hermes-host", f"it says {told}, and its code says {running}")
    return mixed


async def remove(folders: Sequence[Path]) -> str:
    """Take the folders away.

    Raises:
        OSError: one cannot be removed.
    """
    for one in folders:
        if one.is_dir() and not one.is_symlink():
            shutil.rmtree(one)
        else:
            one.unlink()
    return f"Removed {', '.join(one.name for one in folders)}."
