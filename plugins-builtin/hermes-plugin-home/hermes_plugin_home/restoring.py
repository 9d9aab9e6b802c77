"""Restoring: check, show, ask, unpack beside, swap."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import click

from hermes_plugins import CommandHost, HermesError, UsageError

from . import swap
from .archive import Manifest, opened, unpack
from .asking import agreed
from .home import OTHERS, TRANSIENT, below, check_ours, human, is_one_of
from .making import installed_plugins

_SPARE = 50_000_000
"""Bytes that have to stay free."""


def restore(host: CommandHost, file: Path | None, *, yes: bool, dry_run: bool) -> None:
    """Do it.

    Raises:
        UsageError: the backup cannot be used, somebody uses the home, or the person said no.
        HermesError: there is no room.
    """
    home = host.paths.home
    check_ours(home)
    if swap.is_pending(home) and not dry_run:
        with host.alone():
            came = swap.finish(home)
        click.echo(f"A restore that was cut off is finished now: {', '.join(came) or 'all there'}.")
    elif file is None:
        raise UsageError("which backup?", hint="hermes restore FILE")
    if file is None:
        return
    with opened(file.expanduser()) as (found, manifest):
        changes = list(_changes(manifest, home))
        for line in (*_about(manifest), *changes):
            click.echo(line)
        if dry_run:
            return
        _check_room(manifest, home)
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        replaces = any(os.path.lexists(home / name) for name in _tops(manifest))
        with host.alone():
            if replaces and not yes and not agreed("Go on?"):
                raise UsageError("nothing was changed.")
            aside = _in(found, manifest, home, host.clock.now())
    _tell(manifest, home / aside)


def _in(found: zipfile.ZipFile, manifest: Manifest, home: Path, now: float) -> str:
    """Unpack and swap; returns the name of the folder with what was there before."""
    stamp = datetime.fromtimestamp(now).strftime("%Y%m%d-%H%M%S")
    aside = f"before-restore-{stamp}"
    try:
        for stale in home.glob(".restore-*"):  # nobody else is here: those were cut off
            shutil.rmtree(stale, ignore_errors=True)
        staged = Path(tempfile.mkdtemp(prefix=".restore-", dir=home))
        try:
            (staged / "new").mkdir()
            unpack(found, manifest.files, staged / "new")
            swap.commit(staged, home, aside=aside)
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    except OSError as error:
        raise HermesError(
            f"the backup cannot be unpacked into {home}: {error.strerror or error}.",
            hint="`hermes restore` without a file finishes it."
            if swap.is_pending(home)
            else "Nothing was changed.",
        ) from error
    return aside


def _about(manifest: Manifest) -> Iterator[str]:
    when = datetime.fromtimestamp(manifest.made).strftime("%Y-%m-%d %H:%M")
    whose = f" of the profile {manifest.profile}" if manifest.profile else ""
    parts = [
        "with secrets" if manifest.secrets else "without secrets",
        *(["without sessions"] if manifest.quick else []),
    ]
    yield f"A backup{whose} of {when}, made by Hermes {manifest.hermes}, {', '.join(parts)}."


def _changes(manifest: Manifest, home: Path) -> Iterator[str]:
    """What would be different, a line for each name in the home.

    Raises:
        UsageError: it holds what no backup has.
    """
    sizes: dict[str, int] = defaultdict(int)
    counts: dict[str, int] = defaultdict(int)
    for name, packed in manifest.files.items():
        top = name.partition("/")[0]
        if is_one_of(top, (*TRANSIENT, *OTHERS)):
            raise UsageError(f"the backup holds {name}, which no backup has; it was not made here.")
        sizes[top] += packed.size
        counts[top] += 1
    for top in sorted(sizes):
        what = (
            human(sizes[top]) if counts[top] == 1 else f"{counts[top]} files, {human(sizes[top])}"
        )
        if os.path.lexists(home / top):
            old = sum(one.lstat().st_size for one in below(home / top))
            yield f"  replaces {top}: {what} in the place of {human(old)}"
        else:
            yield f"  adds     {top}: {what}"
    if not sizes:
        yield "  nothing: it is empty"


def _tops(manifest: Manifest) -> set[str]:
    return {name.partition("/")[0] for name in manifest.files}


def _check_room(manifest: Manifest, home: Path) -> None:
    place = home
    while not place.exists():
        place = place.parent
    needed = sum(one.size for one in manifest.files.values())
    free = shutil.disk_usage(place).free
    if needed + _SPARE > free:
        raise HermesError(
            f"the backup needs {human(needed)}, and {human(free)} are free in {place}.",
            hint="Nothing was changed.",
        )


def _tell(manifest: Manifest, aside: Path) -> None:
    click.echo("Restored.")
    if aside.exists():
        click.echo(f"What was there before is in {aside}; remove it when all is well.")
    here = installed_plugins()
    missing = sorted(set(manifest.plugins) - set(here))
    if missing:
        click.echo(f"Plugins that were installed and are not here: {', '.join(missing)}.")
        click.echo(f"  hermes plugins install {missing[0]}")
    if not manifest.secrets:
        click.echo("Keys are not in this backup: `hermes config check` tells what is missing.")
