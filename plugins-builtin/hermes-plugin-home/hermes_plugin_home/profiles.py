"""What the commands of ``hermes profile`` do."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from datetime import datetime
from pathlib import Path

import click

from hermes_plugins import CommandHost, HermesError, UsageError

from .asking import agreed
from .home import below, check_ours, check_used, human
from .making import copy_home

DEFAULT = "default"
"""The home itself."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_TEMPORARY = ".making-"
_GONE = ".deleting-"


def show(host: CommandHost, *, as_json: bool) -> None:
    """List them."""
    rows = []
    for name, home in [(DEFAULT, host.root), *sorted(_all(host).items())]:
        state = home / "state.db"
        rows.append(
            {
                "name": name,
                "home": str(home),
                "in_use": home == host.paths.home,
                "chosen": name == (host.chosen_profile or DEFAULT),
                "last_used": state.stat().st_mtime if state.exists() else None,
            }
        )
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    width = max(len(str(row["name"])) for row in rows)
    for row in rows:
        used = row["last_used"]
        when = _when(used) if isinstance(used, float) else "never used"
        mark = "*" if row["in_use"] else " "
        click.echo(f"{mark} {str(row['name']).ljust(width)}  {when:<16}  {row['home']}")
    if host.chosen_profile and host.chosen_profile != host.profile:
        click.echo(f"`hermes profile use` chose {host.chosen_profile}; this call names another.")
    for path in _left_over(host):
        click.echo(f"Left over from a command that was cut off, may be removed: {path}")


def create(host: CommandHost, name: str) -> None:
    """Make an empty one.

    Raises:
        UsageError: the name is none or taken.
    """
    home = _new(host, name)
    try:
        home.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        home.mkdir(mode=0o700)
    except OSError as error:
        raise _taken(name, home, error) from error
    _made(name, home)


async def clone(
    host: CommandHost, source: str, name: str, *, sessions: bool, secrets: bool
) -> None:
    """Make one like another; it is there whole or not at all.

    Raises:
        UsageError: there is no such source, or the name is none or taken.
        HermesError: there is no room.
    """
    before = _home(host, source)
    check_used(before)
    home = _new(host, name)
    folder: Path | None = None
    try:
        home.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{_TEMPORARY}{name}-", dir=home.parent))
        left_out = await copy_home(host, before, folder, secrets=secrets, sessions=sessions)
        if home.exists():  # a rename would take the place of an empty folder
            raise FileExistsError
        os.rename(folder, home)
    except OSError as error:
        raise _taken(name, home, error) from error
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
    _made(name, home)
    for one in left_out:
        click.echo(f"Not in it: {one}")


def use(host: CommandHost, name: str) -> None:
    """Choose one.

    Raises:
        UsageError: there is no such profile.
    """
    host.choose_profile("" if name == DEFAULT else name)
    which = "the home itself" if name == DEFAULT else f"the profile {name}"
    click.echo(f"Where no profile is named, {which} is used now.")


def delete(host: CommandHost, name: str, *, yes: bool) -> None:
    """Delete one.

    Raises:
        UsageError: it is the home itself, the chosen one, in use, not there, or the person said no.
    """
    if name == DEFAULT:
        raise UsageError(
            "that is the home itself.", hint="`hermes uninstall-data` deletes everything."
        )
    home = _home(host, name)
    if name == host.chosen_profile:
        raise UsageError(
            f"{name} is the profile that is used where none is named.",
            hint="`hermes profile use default` first.",
        )
    if home.is_symlink():
        raise UsageError(f"{home} is a link; remove it yourself, and where it leads to.")
    files = list(below(home))
    size = sum(path.lstat().st_size for path in files)
    click.echo(f"The profile {name}: {len(files)} files, {human(size)}, in {home}.")
    with host.alone(home):
        if not yes and not agreed("Delete it, sessions and all?"):
            raise UsageError("nothing was deleted.")
    gone = home.with_name(f"{_GONE}{name}-{os.getpid()}")
    try:
        os.rename(home, gone)
        shutil.rmtree(gone)
    except OSError as error:
        raise HermesError(f"{gone} cannot be removed whole: {error.strerror or error}.") from error
    click.echo(f"Deleted the profile {name}.")


def _all(host: CommandHost) -> dict[str, Path]:
    folder = host.root / "profiles"
    if not folder.is_dir():
        return {}
    return {one.name: one for one in folder.iterdir() if one.is_dir() and _NAME.fullmatch(one.name)}


def _left_over(host: CommandHost) -> list[Path]:
    folder = host.root / "profiles"
    return sorted(one for mark in (_TEMPORARY, _GONE) for one in folder.glob(f"{mark}*"))


def _home(host: CommandHost, name: str) -> Path:
    """The folder of a profile that is there.

    Raises:
        UsageError: there is none.
    """
    if name == DEFAULT:
        return host.root
    if name not in (known := _all(host)):
        near = f" There is: {', '.join(sorted(known))}." if known else ""
        raise UsageError(f"there is no profile {name!r}.{near}", hint="`hermes profile list`")
    return known[name]


def _new(host: CommandHost, name: str) -> Path:
    """The folder of a profile that is not there yet.

    Raises:
        UsageError: the name is none or taken.
    """
    check_ours(host.root)
    if not _NAME.fullmatch(name) or name == DEFAULT:
        raise UsageError(
            f"{name!r} is no name for a profile.",
            hint="Use 1 to 64 of a-z, 0-9, - and _, beginning with a letter or a digit.",
        )
    home = host.root / "profiles" / name
    if os.path.lexists(home):
        raise UsageError(f"the profile {name} is there already.", hint="`hermes profile list`")
    return home


def _taken(name: str, home: Path, error: OSError) -> HermesError:
    if isinstance(error, FileExistsError) or home.exists():
        return UsageError(f"the profile {name} is there already.", hint="`hermes profile list`")
    return HermesError(
        f"the profile {name} cannot be made: {error.strerror or error}.",
        hint="Nothing was left behind.",
    )


def _made(name: str, home: Path) -> None:
    click.echo(f"Made the profile {name} in {home}.")
    click.echo(f"  hermes -p {name}             talks in it")
    click.echo(f"  hermes profile use {name}    makes it the one that is used where none is named")


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")
