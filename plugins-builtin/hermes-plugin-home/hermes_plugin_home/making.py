"""Making a backup, and copying a home for a new profile: both take the same files."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from hermes_plugins import CommandHost, UsageError

from .archive import Manifest, Writing, whole_file
from .home import SECRET, below, check_used, human, is_one_of, worth_keeping
from .secrets import without_secrets


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A backup that was written."""

    file: Path
    size: int
    files: int
    secrets: bool
    left_out: tuple[str, ...] = ()
    """What is not in it, in words."""

    def lines(self) -> Iterator[str]:
        """What the person is told."""
        yield f"Wrote {self.file}: {self.files} files, {human(self.size)}."
        if self.secrets:
            yield "It holds your secrets: keep it where nobody else can read it."
        for one in self.left_out:
            yield f"Not in it: {one}"


async def make_backup(
    host: CommandHost,
    file: Path | None,
    *,
    secrets: bool,
    quick: bool,
    profile: str | None = None,
) -> Made:
    """Write the home of this call, or of a profile, to ``file``, whole or not at all.

    Raises:
        UsageError: the file is there already, or the home is none.
        HermesError: there is no room, or the store cannot be read.
    """
    profile = host.profile if profile is None else profile
    home = host.root / "profiles" / profile if profile else host.root
    check_used(home)
    now = host.clock.now()
    target = _target(file, profile, now)
    files, left_out = chosen_files(home, secrets=secrets)
    with whole_file(target) as folder:
        writing = Writing(folder / target.name)
        try:
            for name, path in files:
                if name.startswith("hermes.yaml") and not secrets:
                    data, found = _plain_settings(host, path)
                    writing.add_bytes(name, data)
                    if found:
                        left_out.append(f"{_secrets(found)} that {name} holds")
                else:
                    writing.add(name, path)
            if quick:
                left_out.append("sessions (--quick)")
            elif (home / "state.db").exists():
                await host.copy_state(folder / "state.db", home=home)
                writing.add("state.db", folder / "state.db")
            writing.finish(
                Manifest(
                    made=now,
                    hermes=host.version,
                    profile=profile,
                    secrets=secrets,
                    quick=quick,
                    plugins=installed_plugins(),
                )
            )
        finally:
            writing.close()
        size = (folder / target.name).stat().st_size
    return Made(
        file=target,
        size=size,
        files=len(writing.files),
        secrets=secrets,
        left_out=(*left_out, *(() if profile else _profiles(host))),
    )


def chosen_files(home: Path, *, secrets: bool) -> tuple[list[tuple[str, Path]], list[str]]:
    """The files that a copy of a home gets but for the store, and what is left out, in words."""
    files: list[tuple[str, Path]] = []
    left_out: list[str] = []
    links: list[str] = []
    for entry in sorted(home.iterdir()):
        if not worth_keeping(entry.name, secrets=secrets):
            if is_one_of(entry.name, SECRET):
                left_out.append(f"{entry.name} (--secrets takes it along)")
            continue
        for path in below(entry):
            name = path.relative_to(home).as_posix()
            if path.is_symlink():
                links.append(name)
            elif path.is_file() and "__pycache__" not in path.parts:
                files.append((name, path))
    if links:
        more = f" and {len(links) - 3} more" if len(links) > 3 else ""
        left_out.append(f"what links lead to: {', '.join(links[:3])}{more}")
    return files, left_out


async def copy_home(
    host: CommandHost, home: Path, target: Path, *, secrets: bool, sessions: bool
) -> list[str]:
    """Copy what is worth keeping of one home into a folder; returns what was left out, in words.

    Raises:
        OSError: there is no room.
        StoreError: the sessions cannot be read.
    """
    files, left_out = chosen_files(home, secrets=secrets)
    for name, path in files:
        place = target / name
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if name.startswith("hermes.yaml") and not secrets:
            data, found = _plain_settings(host, path)
            place.write_bytes(data)
            if found:
                left_out.append(f"{_secrets(found)} that {name} holds")
        else:
            shutil.copyfile(path, place)
        os.chmod(place, path.stat().st_mode & 0o700)
    if sessions and (home / "state.db").exists():
        await host.copy_state(target / "state.db", home=home)
        os.chmod(target / "state.db", 0o600)
    elif (home / "state.db").exists():
        left_out.append("its sessions (--sessions takes them along)")
    return left_out


def installed_plugins() -> dict[str, str]:
    """The distributions that offer something to Hermes, with their versions."""
    return {
        one.name: one.version
        for one in importlib.metadata.distributions()
        if one.name and any(point.group.startswith("hermes.") for point in one.entry_points)
    }


def _plain_settings(host: CommandHost, path: Path) -> tuple[bytes, int]:
    data = path.read_bytes()
    try:
        text, found = without_secrets(data.decode("utf-8"), host.redact)
    except UnicodeDecodeError:
        return data, 0
    return (text.encode("utf-8"), found) if found else (data, 0)


def _secrets(count: int) -> str:
    return "a secret" if count == 1 else f"{count} secrets"


def _target(file: Path | None, profile: str, now: float) -> Path:
    """Where it goes.

    Raises:
        UsageError: something is there already.
    """
    stamp = datetime.fromtimestamp(now).strftime("%Y%m%d-%H%M%S")
    name = "-".join(filter(None, ("hermes-backup", profile, stamp))) + ".zip"
    target = Path(name) if file is None else file.expanduser()
    if target.is_dir():
        target = target / name
    if os.path.lexists(target):
        raise UsageError(f"{target} is there already.", hint="Name another file.")
    return target


def _profiles(host: CommandHost) -> Iterator[str]:
    folder = host.root / "profiles"
    if folder.is_dir():
        names = sorted(one.name for one in folder.iterdir() if one.is_dir() and one.name[0] != ".")
        if names:
            yield f"profiles: {', '.join(names)} (`hermes -p NAME backup` for each)"
