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

    The environment takes a name in any Unicode form for the one it has; ``note`` then says so.

    Raises:
        ToolError: the name is missing, and two others differ from it in Unicode form only.
    """
    if not path.strip():
        raise ToolError("path is empty.", hint="Give the path of a file.")
    resolved = environment.resolve(path)
    found = await environment.stat(resolved)
    asked, name = leaf(path.replace("\\", "/") if _windows(resolved) else path), leaf(resolved)
    note = ""
    if found.kind == "missing" and not (name.isascii() and " " not in name):
        await _refuse_twins(environment, resolved)
    elif asked != name and _form(asked) == _form(name):
        note = f"the name is spelled {name!a} on disk"
    return Place(resolved, show(environment, resolved), found, note)


async def missing(environment: Environment, place: Place) -> ToolError:
    """The error for a path that is not there, with names like it."""
    parent = folder_of(place.path)
    names = await _names(environment, parent)
    if names is None:
        return ToolError(f"{place.shown}: no such file; its folder {parent} does not exist.")
    wanted = leaf(place.path)
    similar = [name for name in names if name.casefold() == wanted.casefold()]
    similar += [n for n in get_close_matches(wanted, names, n=4, cutoff=0.6) if n not in similar]
    hint = f"Similar names there: {', '.join(map(_spelled, similar))}." if similar else ""
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


async def _refuse_twins(environment: Environment, resolved: str) -> None:
    """Two names that differ in form only are never guessed between."""
    names = await _names(environment, folder_of(resolved)) or []
    twins = [name for name in names if _form(name) == _form(leaf(resolved))]
    if len(twins) > 1:
        raise ToolError(
            f"{resolved}: no such file, but {len(twins)} names differ from it in Unicode form "
            f"only: {' and '.join(map(ascii, twins))}.",
            hint="Use one of them exactly as it is spelled.",
        )


async def _names(environment: Environment, folder: str) -> list[str] | None:
    if (await environment.stat(folder)).kind != "folder":
        return None
    return [name.rstrip("/") for name in await environment.list(folder)]


def _form(name: str) -> str:
    return unicodedata.normalize("NFC", _SPACES.sub(" ", name))


def _spelled(name: str) -> str:
    """A name for a message; one with odd spaces is spelled out."""
    return ascii(name) if _SPACES.search(name) else name
