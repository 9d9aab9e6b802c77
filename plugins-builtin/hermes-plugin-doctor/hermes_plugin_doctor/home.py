"""The home and its settings: whether things can be kept, by whom they can be read, what is misspelt."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from hermes_plugins import CommandHost, Finding, Level

LITTLE: Final = 1_000_000_000
"""Bytes of free space from which it is worth a warning."""
NONE: Final = 50_000_000
"""Bytes of free space with which a session may fail before its end."""

_LEVELS: Final[dict[str, Level]] = {"error": "fail", "warning": "warn", "note": "info"}
_CHMOD: Final = re.compile(r"Run: chmod 600 (.+)$")


def look(host: CommandHost) -> Sequence[Finding]:
    """Whether the home can be used, and who else can read it."""
    place = host.paths.home
    try:
        if not place.exists():
            text = f"{place} is not there yet; the first session makes it."
            return [Finding(level="info", text=text)]
        with tempfile.TemporaryFile(dir=place):
            pass
        free = shutil.disk_usage(place).free
    except OSError as error:
        reason = error.strerror or type(error).__name__
        text = f"{place} cannot be written: {reason}."
        hint = f"`ls -ld {place}` shows whose it is; or set HERMES_HOME to a folder that you own."
        return [Finding(level="fail", text=text, hint=hint)]
    return [_space(place, free), *_readers(place)]


def _space(place: Path, free: int) -> Finding:
    size = f"{free / 1_000_000_000:,.1f} GB" if free >= LITTLE else f"{free // 1_000_000:,} MB"
    if free >= LITTLE:
        return Finding(level="ok", text=f"{place}: can be written, {size} free.")
    text = f"{place}: only {size} free; a session that finds the disk full loses its last answer."
    hint = f"`du -sh {place}/*` shows what is large there."
    return Finding(level="warn" if free >= NONE else "fail", text=text, hint=hint)


def _readers(place: Path) -> Sequence[Finding]:
    if os.name == "nt" or not place.stat().st_mode & 0o077:
        return []
    text = "Other users of this machine can look into it, at what you said and what was remembered."
    hint = f"`chmod 700 {place}`"
    return [Finding(level="warn", text=text, hint=hint, fix=partial(_close, place, 0o700))]


def settings(host: CommandHost) -> Sequence[Finding]:
    """What `hermes config check` says, and how to go on."""
    found = [_told(line) for line in host.settings.problems()]
    if any(one.level == "fail" for one in found):
        hint = "`hermes config edit` opens it; `hermes config check` looks again."
        found.append(Finding(level="info", text="Nothing starts before that is mended.", hint=hint))
    if not found:
        file = host.settings.file
        text = (
            f"{file}: nothing to mend."
            if file.exists()
            else "All defaults; there is no hermes.yaml."
        )
        found.append(Finding(level="ok", text=text))
    return found


def _told(line: str) -> Finding:
    severity, _, text = line.partition(": ")
    fix: Callable[[], Awaitable[str]] | None = None
    if match := _CHMOD.search(text):
        fix = partial(_close, Path(match[1]), 0o600)
    return Finding(level=_LEVELS.get(severity, "warn"), text=text, fix=fix)


async def _close(path: Path, mode: int) -> str:
    os.chmod(path, mode)
    return f"{path} is yours alone now (mode {mode:o})."
