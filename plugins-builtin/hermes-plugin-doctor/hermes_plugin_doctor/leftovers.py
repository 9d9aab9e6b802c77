"""Traces of an update that was cut off: folders that pip had set aside, and two versions of one name."""

from __future__ import annotations

import re
import shutil
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

# pip sets a folder aside by replacing the beginning of its name: "~", then more of these characters, as
# many in all as it takes away.
_ASIDE: Final = re.compile(
    r"~[-~.=%0-9]*(?:ermes|rmes|mes|es|s)_(?:core|host|plugins?)(?:[_.-].*)?"
)
_RECORD: Final = re.compile(r"(hermes_(?:host|plugin_\w+))-(.+)\.dist-info")


class Mixed(msgspec.Struct, frozen=True, kw_only=True):
    """A distribution that is half one version and half another; ``keep`` is the one to put in place
    again, ``stale`` are the records of others."""

    name: str
    why: str
    keep: str
    stale: tuple[Path, ...] = ()


class Traces(msgspec.Struct, frozen=True, kw_only=True):
    """``folders`` were set aside and forgotten."""

    folders: tuple[Path, ...] = ()
    mixed: tuple[Mixed, ...] = ()


def find(running: str) -> Traces:
    """What is there of Hermes and its plugins, in the environment of this process.

    ``running`` is the version that the code of hermes-host has of itself.
    """
    place = Path(sysconfig.get_path("purelib"))
    try:
        inside = sorted(place.iterdir())
    except OSError:
        return Traces()
    records: dict[str, dict[str, Path]] = {}
    for one in inside:
        if match := _RECORD.fullmatch(one.name):
            records.setdefault(match[1].replace("_", "-"), {})[match[2]] = one
    return Traces(
        folders=tuple(one for one in inside if _ASIDE.fullmatch(one.name)),
        mixed=tuple(_mixed(records, running)),
    )


def _mixed(records: Mapping[str, Mapping[str, Path]], running: str) -> Iterator[Mixed]:
    for name, versions in records.items():
        newest = max(versions, key=lambda one: [int(digits) for digits in re.findall(r"\d+", one)])
        keep = running if name == "hermes-host" and running in versions else newest
        if len(versions) > 1:
            yield Mixed(
                name=name,
                why=f"versions {' and '.join(sorted(versions))} are both there",
                keep=keep,
                stale=tuple(path for one, path in versions.items() if one != keep),
            )
        elif name == "hermes-host" and running not in versions:
            why = f"it says {newest}, and its code says {running}"
            yield Mixed(name=name, why=why, keep=newest)


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
