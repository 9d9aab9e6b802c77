"""Deleting everything, the marks of a home last: one that was cut off can be called again."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from hermes_plugins import CommandHost, HermesError, UsageError

from .asking import agreed, answer
from .home import MARKS, Entry, check_ours, entries, human, is_used, not_used
from .making import make_backup

WORD = "delete"


def uninstall(
    host: CommandHost, *, yes: bool, everything: bool, backup: Path | None, dry_run: bool
) -> None:
    """Show, offer a backup, ask, delete.

    Raises:
        UsageError: the folder is not Hermes's alone, somebody uses it, or the person said no.
        HermesError: something cannot be deleted.
    """
    root = host.root
    if host.profile and host.profile != host.chosen_profile:
        raise UsageError(
            "this deletes everything, not one profile.",
            hint=f"`hermes profile delete {host.profile}` deletes that one.",
        )
    check_ours(root)
    found = entries(root) if root.is_dir() else []
    if not found or not (is_used(root) or all(one.known for one in found)):
        raise not_used(root)
    doomed = [one for one in found if one.known or everything]
    _show(root, doomed, [one for one in found if one not in doomed])
    if dry_run:
        return
    with ExitStack() as stack:
        for home in [root, *_profiles(root)]:
            stack.enter_context(host.alone(home))
        if not yes:
            backup = backup or _offered(root)
        if backup is not None:
            _back_up(host, backup)
        if not yes and answer(f"Type {WORD} to delete it all").strip() != WORD:
            raise UsageError("nothing was deleted.")
    lock = Entry(name="gateway.lock", size=0, files=1)  # it may be there only since we hold it
    _delete(root, [*doomed, *([] if lock in doomed else [lock])])
    _tell(root)


def _show(root: Path, doomed: Sequence[Entry], stays: Sequence[Entry]) -> None:
    total = sum(one.size for one in doomed)
    click.echo(f"In {root}, {human(total)} would be deleted:")
    width = max((len(one.name) for one in doomed), default=0)
    for one in doomed:
        count = "" if one.files < 2 else f", {one.files} files"
        click.echo(f"  {one.name.ljust(width)}  {human(one.size)}{count}")
    if profiles := _profiles(root):
        click.echo(f"With the profiles {', '.join(one.name for one in profiles)}.")
    if stays:
        names = ", ".join(one.name for one in stays)
        click.echo(f"Not known to be of Hermes, and stays: {names} (--everything takes it too)")


def _profiles(root: Path) -> list[Path]:
    folder = root / "profiles"
    if folder.is_symlink() or not folder.is_dir():
        return []
    return sorted(one for one in folder.iterdir() if one.is_dir() and one.name[0] != ".")


def _offered(root: Path) -> Path | None:
    """Where a backup goes that they want first: this folder, unless that is to be deleted."""
    if not agreed("Make a backup first, with the secrets?"):
        return None
    here = Path.cwd()
    inside = here == root or root in here.parents
    return Path.home() if inside else here


def _back_up(host: CommandHost, place: Path) -> None:
    """One file for the home itself, and one for each profile, whose name is added to it."""
    target = Path(os.path.abspath(place.expanduser()))
    if target == host.root or host.root in target.parents:
        raise UsageError("the backup would be deleted too.", hint="Name a place elsewhere.")
    for profile in ["", *(one.name for one in _profiles(host.root))]:
        home = host.root / "profiles" / profile if profile else host.root
        if not is_used(home):
            continue
        named = target.is_dir() or not profile
        file = target if named else target.with_stem(f"{target.stem}-{profile}")
        made = asyncio.run(make_backup(host, file, secrets=True, quick=False, profile=profile))
        click.echo(next(made.lines()))


def _delete(root: Path, doomed: Sequence[Entry]) -> None:
    marks = {mark.partition("/")[0] for mark in MARKS}
    for entry in sorted(doomed, key=lambda one: (one.name in marks, one.name)):
        path = root / entry.name
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise HermesError(
                f"{error.filename or path} cannot be deleted: {error.strerror or error}.",
                hint="Mend that and call it again.",
            ) from error


def _tell(root: Path) -> None:
    try:
        root.rmdir()
        click.echo(f"Deleted {root}.")
    except OSError:
        click.echo(f"Deleted all of Hermes's in {root}; the folder holds other things and stays.")
    click.echo("The program itself: pip uninstall hermes-host, and the hermes-plugin-* beside it.")
