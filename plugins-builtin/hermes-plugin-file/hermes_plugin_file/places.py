"""Paths: found once, in whatever Unicode form they are spelled, and shown short."""

from __future__ import annotations

import ntpath
import posixpath
import re
import unicodedata
from difflib import get_close_matches
from types import ModuleType
from typing import Final

import msgspec

from hermes_plugins import Environment, FileStat, ToolError

_SPACES: Final = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")


class Place(msgspec.Struct, frozen=True):
    """Where a path leads: ``path`` is absolute and resolved once, and is what every step uses."""

    path: str
    shown: str
    stat: FileStat
    note: str = ""


async def locate(environment: Environment, path: str) -> Place:
    """The file, folder or gap that ``path`` names.

    A name that is missing but for its Unicode form (composed or not, which space) is the one that
    has the other form, and ``note`` says so.

    Raises:
        ToolError: two names differ from it in form only, or the one that does is a link.
    """
    if not path.strip():
        raise ToolError("path is empty.", hint="Give the path of a file.")
    resolved = environment.resolve(path)
    found = await environment.stat(resolved)
    note = ""
    if found.kind == "missing":
        other = await _same_but_for_form(environment, resolved)
        if other:
            if environment.resolve(other) != other:
                raise ToolError(f"{path}: {other} has this name in another form and is a link.")
            resolved, found = other, await environment.stat(other)
            note = f"the name is spelled {leaf(other)!a} on disk"
    return Place(resolved, show(environment, resolved), found, note)


async def missing(environment: Environment, place: Place) -> ToolError:
    """The error for a path that is not there, with names like it."""
    parent = folder_of(place.path)
    if (await environment.stat(parent)).kind != "folder":
        return ToolError(f"{place.shown}: no such file; its folder {parent} does not exist.")
    names = [name.rstrip("/") for name in await environment.list(parent)]
    wanted = leaf(place.path)
    similar = [name for name in names if name.casefold() == wanted.casefold()]
    similar += [n for n in get_close_matches(wanted, names, n=4, cutoff=0.6) if n not in similar]
    hint = f"Similar names there: {', '.join(similar)}." if similar else ""
    return ToolError(f"{place.shown}: no such file.", hint=hint or "Find it with search_files.")


def show(environment: Environment, path: str) -> str:
    """``path`` relative to the workspace where it lies inside, with forward slashes."""
    base = environment.workspace
    for root in (base, environment.resolve(base)):
        if path == root:
            return "."
        if path.startswith(root.rstrip("/\\") + flavour(root).sep):
            return path[len(root.rstrip("/\\")) + 1 :].replace(
                "\\", "/" if _windows(root) else "\\"
            )
    return path


def flavour(path: str) -> ModuleType:
    """The path rules of the environment that ``path`` comes from, which may be another system."""
    return ntpath if _windows(path) else posixpath


def join(folder: str, name: str) -> str:
    """The path of ``name`` in ``folder``."""
    joined: str = flavour(folder).join(folder, name)
    return joined


def leaf(path: str) -> str:
    """The last name of a path."""
    name: str = flavour(path).basename(path)
    return name


def folder_of(path: str) -> str:
    """The folder of a path."""
    folder: str = flavour(path).dirname(path)
    return folder


def _windows(path: str) -> bool:
    return path[1:3] in (":\\", ":/") or path.startswith("\\\\")


async def _same_but_for_form(environment: Environment, resolved: str) -> str:
    """The path whose names equal ``resolved`` but for Unicode form, "" where there is none."""
    names: list[str] = []
    folder = resolved
    while True:
        parent = folder_of(folder)
        if parent == folder:
            return ""
        names.append(leaf(folder))
        folder = parent
        if (await environment.stat(folder)).kind == "folder":
            break
    for name in reversed(names):
        if name.isascii() and " " not in name:
            folder = join(folder, name)
            continue
        there = [found.rstrip("/") for found in await _names(environment, folder)]
        same = [name] if name in there else [n for n in there if _form(n) == _form(name)]
        if len(same) > 1:
            spelled = " and ".join(map(ascii, same))
            raise ToolError(
                f"{resolved}: {len(same)} names differ from it in Unicode form only: {spelled}.",
                hint="Rename one of them, or use the exact name.",
            )
        if not same:
            return ""
        folder = join(folder, same[0])
    return folder if (await environment.stat(folder)).kind != "missing" else ""


async def _names(environment: Environment, folder: str) -> list[str]:
    if (await environment.stat(folder)).kind != "folder":
        return []
    return list(await environment.list(folder))


def _form(name: str) -> str:
    return unicodedata.normalize("NFC", _SPACES.sub(" ", name))
