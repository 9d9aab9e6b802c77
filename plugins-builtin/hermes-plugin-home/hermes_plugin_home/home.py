"""What a home is made of: what is worth keeping, what is secret, what comes again by itself.

A home that shares its folder with other things (HERMES_HOME is the person's own home, or ``/``) is
refused: nobody could say then what belongs to Hermes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path

import msgspec

from hermes_plugins import UsageError

MARKS = ("hermes.yaml", "state.db", ".env", "gateway.json")
"""One of them is in every home that was used."""
KEPT = (
    *("hermes.yaml", "hermes.yaml.*", "SOUL.md", "memories", "skills", "plugins", "cron"),
    *("repl_history", "state.db"),
)
SECRET = (".env", "auth.json", "mcp-tokens", "pairing", "credentials*")
TRANSIENT = (
    *("cache", "logs", "gateway.lock", "gateway.json", "state.db-*", "*.tmp"),
    *("before-restore-*", ".restore*", "hermes-backup-*.zip"),
)
"""Made anew, about what runs now, or itself a copy."""
OTHERS = ("profiles", "default-profile")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One name in a home. ``size`` is of everything in it, links not followed."""

    name: str
    size: int
    files: int
    known: bool = True


def check_ours(home: Path) -> None:
    """Refuse a folder that is not Hermes's alone.

    Raises:
        UsageError: it is the person's home, one of the folders above it, or the root.
    """
    real = Path(os.path.realpath(home))
    person = Path(os.path.realpath(Path.home()))
    if real == person or real in person.parents or real == Path(real.anchor):
        raise UsageError(
            f"the home of Hermes is {home}, which holds more than Hermes's files.",
            hint="Set HERMES_HOME to a folder of its own and move Hermes's files there.",
        )


def check_used(home: Path) -> None:
    """Refuse a folder that was never a home.

    Raises:
        UsageError: nothing of Hermes is in it.
    """
    check_ours(home)
    if not is_used(home):
        raise not_used(home)


def not_used(home: Path) -> UsageError:
    """That a folder was never a home."""
    return UsageError(
        f"{home} is no home of Hermes: there is no {MARKS[0]} and no {MARKS[1]} in it.",
        hint="`hermes config path` shows where your home is.",
    )


def is_used(home: Path) -> bool:
    """Whether something of Hermes is in it."""
    return any((home / mark).exists() for mark in MARKS)


def is_one_of(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name in a home fits one of these."""
    return any(fnmatch(name, pattern) for pattern in patterns)


def worth_keeping(name: str, *, secrets: bool) -> bool:
    """Whether a name in a home goes into a copy of it, but for the store, which is copied apart."""
    if name == "state.db" or is_one_of(name, (*TRANSIENT, *OTHERS)):
        return False
    return secrets or not is_one_of(name, SECRET)


def entries(home: Path) -> list[Entry]:
    """Everything in a home, by name."""
    known = (*KEPT, *SECRET, *TRANSIENT, *OTHERS)
    found = []
    for path in sorted(home.iterdir()):
        sizes = [one.lstat().st_size for one in below(path)]
        found.append(
            Entry(
                name=path.name,
                size=sum(sizes),
                files=len(sizes),
                known=is_one_of(path.name, known),
            )
        )
    return found


def below(path: Path) -> Iterator[Path]:
    """The files and links at and below ``path``; links are not followed."""
    if path.is_dir() and not path.is_symlink():
        for inner in sorted(path.iterdir()):
            yield from below(inner)
    else:
        yield path


def human(size: int) -> str:
    """Bytes as people write them."""
    value = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
