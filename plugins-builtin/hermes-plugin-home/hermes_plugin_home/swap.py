"""Putting new files in the place of old ones, so that it can be cut off anywhere and finished later.

What comes in stands ready in ``.restore/new`` of the home. From the moment that this folder has its name
the restore has happened: what is left are renames, and each can be told from what is there. What was in
their place goes to a folder beside, which nobody removes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

READY = ".restore"
_GOES_ALONG = {"state.db": ("state.db-wal", "state.db-shm", "state.db-checkpoint")}
"""What belongs to an old file and must not meet the new one."""


def is_pending(home: Path) -> bool:
    """Whether a restore was cut off in the middle."""
    return (home / READY).is_dir()


def commit(staged: Path, home: Path, *, aside: str) -> None:
    """Let the files in ``staged`` (a folder in the home) be the home's; the old ones go to ``aside``.

    Raises:
        OSError: another restore is going on.
    """
    (staged / "aside").write_text(aside, encoding="utf-8")
    os.rename(staged, home / READY)
    finish(home)


def finish(home: Path) -> Sequence[str]:
    """Do what is left of a restore; returns the names that came in just now."""
    ready = home / READY
    if not (ready / "new").is_dir() or not any((ready / "new").iterdir()):
        shutil.rmtree(ready, ignore_errors=True)  # all came in; only this was left
        return []
    aside = home / (ready / "aside").read_text(encoding="utf-8")
    came = []
    for new in sorted((ready / "new").iterdir()):
        for name in (new.name, *_GOES_ALONG.get(new.name, ())):
            _put_aside(home / name, aside)
        with suppress(FileNotFoundError):
            os.rename(new, home / new.name)
            came.append(new.name)
    shutil.rmtree(ready, ignore_errors=True)
    return came


def _put_aside(path: Path, aside: Path) -> None:
    if not os.path.lexists(path):
        return
    aside.mkdir(mode=0o700, exist_ok=True)
    target, number = aside / path.name, 1
    while os.path.lexists(target):  # somebody made a new one while a restore was cut off
        target, number = aside / f"{path.name}.{number}", number + 1
    with suppress(FileNotFoundError):
        os.rename(path, target)
