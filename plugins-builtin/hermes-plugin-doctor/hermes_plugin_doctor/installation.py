"""The installation: Python, what Hermes needs, programs it can use, and traces of a half update."""

from __future__ import annotations

import re
import shutil
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from typing import Final

from hermes_plugins import CommandHost, Finding

from . import leftovers

SAFE_SQLITE: Final = (3, 51, 3)
"""First SQLite without the race between checkpoint and log reset (sqlite.org/wal.html)."""


def look(host: CommandHost) -> Sequence[Finding]:
    """What is here, then what is missing."""
    python = ".".join(map(str, sys.version_info[:3]))
    text = f"hermes-host {host.version}, Python {python}, {sys.platform}."
    found = [Finding(level="ok", text=text), *_half_update(host), *_needed()]
    return [*found, *_sqlite(), *_optional()]


def _half_update(host: CommandHost) -> Sequence[Finding]:
    traces = leftovers.find(host.version)
    found = []
    if traces.folders:
        count = len(traces.folders)
        what = "a folder" if count == 1 else f"{count} folders"
        text = f"An update was cut off and left {what} behind: {traces.folders[0].name}."
        fix = partial(leftovers.remove, traces.folders)
        hint = "`hermes update`, or `hermes doctor --fix`, takes it away."
        found.append(Finding(level="warn", text=text, hint=hint, fix=fix))
    for one in traces.mixed:
        text = f"{one.name} is half updated: {one.why}."
        hint = "`hermes update` puts it in order."
        found.append(Finding(level="fail", text=text, hint=hint))
    return found


def _needed() -> Sequence[Finding]:
    """What hermes-host asks for, without its extras."""
    try:
        wanted = requires("hermes-host") or []
    except PackageNotFoundError:
        text = "hermes-host is not installed as a distribution, so its plugins are not found."
        hint = "`pip install 'hermes-host[default]'`"
        return [Finding(level="fail", text=text, hint=hint)]
    names = [
        re.split(r"[\s<>=!~;\[(]", line, maxsplit=1)[0] for line in wanted if "extra ==" not in line
    ]
    missing = [name for name in names if not _version(name)]
    if not missing:
        return []
    text = f"Packages that Hermes needs are missing: {', '.join(missing)}."
    return [Finding(level="fail", text=text, hint=f"`pip install {' '.join(missing)}`")]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _sqlite() -> Sequence[Finding]:
    found = []
    if sqlite3.sqlite_version_info < SAFE_SQLITE:
        text = (
            f"SQLite {sqlite3.sqlite_version} has a checkpoint race, mended in 3.51.3. Hermes avoids "
            "it; other programs that write state.db may not."
        )
        hint = "It comes with Python: a newer build of that brings a newer SQLite."
        found.append(Finding(level="info", text=text, hint=hint))
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
        except sqlite3.OperationalError:
            text = "This Python's SQLite has no FTS5: searching sessions is slow."
            hint = "A Python from python.org, your system or uv has it."
            found.append(Finding(level="info", text=text, hint=hint))
    return found


def _optional() -> Sequence[Finding]:
    found = []
    if find_spec("tree_sitter") is None or find_spec("tree_sitter_bash") is None:
        text = "The gate cannot parse shell lines, so it asks about many that only read."
        hint = "`pip install tree-sitter tree-sitter-bash`"
        found.append(Finding(level="warn", text=text, hint=hint))
    if shutil.which("rg") is None:
        text = "ripgrep (rg) is not installed: searching files is slower without it."
        hint = "Install the package ripgrep of your system."
        found.append(Finding(level="info", text=text, hint=hint))
    return found
