"""The file of a backup: a zip with the home's files under ``home/`` and a manifest of them.

It is written beside its place and renamed, so that there is a whole one or none. It is read with
suspicion: nothing is written outside, no link is made, and no more than the manifest says.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import msgspec

from hermes_plugins import HermesError, UsageError

MANIFEST = "hermes-backup.json"
MOST_FILES = 200_000
MOST_RATIO = 200
"""Text of one kind packs to a hundredth; more than that is made to burst something."""
_HARMLESS_SIZE = 100_000_000
_BLOCK = 1 << 20


class Packed(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a backup."""

    size: int
    sha256: str
    runs: bool = False
    """Whether it may be executed."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup says of itself. ``plugins`` are the installed ones with their versions."""

    v: int = 1
    made: float
    hermes: str
    profile: str = ""
    secrets: bool = False
    quick: bool = False
    plugins: dict[str, str] = {}
    files: dict[str, Packed] = {}


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """A folder for this process alone beside ``target``; what is in it under that name when the block
    ends takes the target's place.

    Raises:
        HermesError: there is no room, or it may not be written. Nothing is left behind then.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".hermes-backup-", dir=target.parent))
    except OSError as error:
        raise _cannot(target, error) from error
    try:
        yield folder
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "another command has made it meanwhile")
        os.replace(folder / target.name, target)
    except OSError as error:
        raise _cannot(target, error) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _cannot(target: Path, error: OSError) -> HermesError:
    return HermesError(
        f"{target} cannot be written: {error.strerror or error}.",
        hint="Nothing was left behind. Name another place: hermes backup FILE",
    )


class Writing:
    """A zip file that is being written."""

    def __init__(self, path: Path) -> None:
        handle = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600
        )
        self._file = open(handle, "wb")  # noqa: SIM115  # closed by `close`
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self.files: dict[str, Packed] = {}

    def add(self, name: str, path: Path) -> None:
        """Add a file of the home; one that is gone meanwhile is left out.

        Raises:
            HermesError: it cannot be read.
        """
        digest, size = hashlib.sha256(), 0
        try:
            source = path.open("rb")
        except FileNotFoundError:
            return
        except OSError as error:
            raise HermesError(
                f"{path} cannot be read: {error.strerror}.", hint="No backup was written."
            ) from error
        with source, self._zip.open(self._info(name), "w") as out:
            while block := source.read(_BLOCK):
                digest.update(block)
                size += len(block)
                out.write(block)
            runs = bool(os.fstat(source.fileno()).st_mode & stat.S_IXUSR) and os.name != "nt"
        self.files[name] = Packed(size=size, sha256=digest.hexdigest(), runs=runs)

    def add_bytes(self, name: str, data: bytes) -> None:
        """Add a file with this content."""
        self._zip.writestr(self._info(name), data)
        self.files[name] = Packed(size=len(data), sha256=hashlib.sha256(data).hexdigest())

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest, and everything to the disk."""
        data = msgspec.json.encode(msgspec.structs.replace(manifest, files=self.files))
        self._zip.writestr(MANIFEST, data)
        self._zip.close()
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let go of the file, whole or not."""
        self._file.close()

    def _info(self, name: str) -> zipfile.ZipInfo:
        info = zipfile.ZipInfo(f"home/{name}")
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        return info


@contextmanager
def opened(file: Path) -> Iterator[tuple[zipfile.ZipFile, Manifest]]:
    """A backup that may be unpacked.

    Raises:
        UsageError: it is no backup, it is damaged, or something about it is not as it should be.
    """
    try:
        with zipfile.ZipFile(file) as found:
            manifest = _manifest(found, file)
            _check(found, manifest, file)
            yield found, manifest
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}.") from error
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise UsageError(f"{file} is no backup, or a damaged one: {error}.") from error


def _manifest(found: zipfile.ZipFile, file: Path) -> Manifest:
    try:
        info = found.getinfo(MANIFEST)
        if info.file_size > 100_000_000:
            raise UsageError(f"{file}: its manifest is too large.")
        raw = msgspec.json.decode(found.read(info))
        if isinstance(raw, dict) and isinstance(raw.get("v"), int) and raw["v"] > 1:
            raise UsageError(
                f"{file} was made by a newer Hermes.", hint="pip install --upgrade hermes-host"
            )
        return msgspec.convert(raw, Manifest)
    except (KeyError, msgspec.MsgspecError) as error:
        raise UsageError(f"{file} is no backup of Hermes.") from error


def _check(found: zipfile.ZipFile, manifest: Manifest, file: Path) -> None:
    """Refuse what would write elsewhere, make links, or burst the disk.

    Raises:
        UsageError: names the entry.
    """
    infos = [info for info in found.infolist() if info.filename != MANIFEST]
    if len(infos) > MOST_FILES:
        raise UsageError(f"{file} holds {len(infos):,} files; at most {MOST_FILES:,} are taken.")
    names = [info.filename.removeprefix("home/") for info in infos]
    if sorted(names) != sorted(manifest.files) or len(set(map(str.casefold, names))) != len(names):
        raise UsageError(f"{file} does not hold what its manifest says.")
    for info, name in zip(infos, names, strict=True):
        kind = stat.S_IFMT(info.external_attr >> 16)
        if not _is_inside(name) or not info.filename.startswith("home/") or info.is_dir():
            raise UsageError(f"{file}: the name {info.filename!r} would lead out of the home.")
        if kind not in (0, stat.S_IFREG):
            raise UsageError(f"{file}: {info.filename!r} is a link or a device, not a file.")
        if info.file_size != manifest.files[name].size:
            raise UsageError(f"{file} does not hold what its manifest says.")
    total = sum(info.file_size for info in infos)
    packed = sum(info.compress_size for info in infos)
    if total > _HARMLESS_SIZE and total > packed * MOST_RATIO:
        raise UsageError(f"{file} would unpack to {total:,} bytes from {packed:,}; that is a trap.")


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    strange = any(char in name for char in "\\:\0") or any(ord(char) < 32 for char in name)
    parts_ok = all(part not in ("", ".", "..") for part in name.split("/"))
    return bool(name) and not strange and not path.is_absolute() and parts_ok


def unpack(found: zipfile.ZipFile, files: Mapping[str, Packed], folder: Path) -> None:
    """Write the files below ``folder``, which is this process's own.

    Raises:
        UsageError: one is not what the manifest says.
        OSError: there is no room.
    """
    for name, packed in files.items():
        target = folder / name
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        digest, left = hashlib.sha256(), packed.size
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        handle = os.open(target, flags, 0o700 if packed.runs else 0o600)
        with open(handle, "wb") as out, found.open(f"home/{name}") as source:
            while block := source.read(min(_BLOCK, left + 1)):
                left -= len(block)
                if left < 0:
                    break
                digest.update(block)
                out.write(block)
            out.flush()
            os.fsync(out.fileno())
        if left != 0 or digest.hexdigest() != packed.sha256:
            raise UsageError(f"the backup is damaged: {name} is not what was packed.")
