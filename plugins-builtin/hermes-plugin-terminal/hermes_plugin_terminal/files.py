"""Files of this machine: finding a name, reading, writing whole or not at all.

Everything here blocks; ``local.py`` decides in which thread it runs. ``shown`` is the path as the
caller wrote it, for messages. Not here: what may be touched, which is the gate's business.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from hermes_plugins import FileStat, ToolError

# Not on every system; opening a pipe without a writer must not hang, and Windows must not translate.
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)

_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG)


def expand(path: str, base: str) -> str:
    """An absolute path: ``~`` expanded, relative to ``base``, links not followed.

    A name that does not exist, where exactly one name in its folder differs from it in Unicode form
    only (NFC or NFD, U+202F for a space), is replaced by that one.

    Raises:
        ToolError: no system call could take it.
    """
    try:
        if "\0" in path:
            raise ToolError(f"{path!r}: a path cannot contain a zero byte.")
        os.fsencode(path)
    except UnicodeEncodeError:
        raise ToolError(f"{path!r}: not a valid file name.") from None
    if os.name == "nt":
        path = from_git_bash(path)
    return _existing(os.path.join(base, os.path.expanduser(path)))


def from_git_bash(path: str) -> str:
    """``/c/Users`` and ``/cygdrive/c/Users`` as ``C:/Users``; other paths as they are."""
    rest = path.removeprefix("/cygdrive")
    if len(rest) > 1 and rest[0] == "/" and rest[1].isalpha() and rest[2:3] in ("", "/"):
        return f"{rest[1].upper()}:{rest[2:] or '/'}"
    return path


def facts(path: str, shown: str) -> FileStat:
    """`FileStat` of an absolute path, through links."""
    is_link = False
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            is_link = True
            found = os.stat(path)
    except OSError as error:
        if error.errno in _ABSENT:
            return FileStat(kind="missing", is_link=is_link)
        raise failed(shown, error) from None
    mode = found.st_mode
    return FileStat(
        kind="file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other",
        size=found.st_size,
        modified=found.st_mtime_ns,
        mode=stat.S_IMODE(mode),
        is_link=is_link,
    )


def names(path: str, shown: str) -> list[str]:
    """Names in a folder, sorted; folders, and links to them, end with ``/``."""
    try:
        with os.scandir(path) as entries:
            return sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries)
    except OSError as error:
        raise failed(shown, error) from None


def read(path: str, shown: str, *, limit: int) -> bytes:
    """The whole of a regular file.

    Raises:
        ToolError: it is none, cannot be read, or is larger than ``limit`` bytes.
    """
    try:
        with open(os.open(path, _READ), "rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise ToolError(f"{shown}: not a regular file.")
            if found.st_size > limit:
                raise _too_large(shown, found.st_size, limit)
            pieces: list[bytes] = []
            left = limit + 1
            # One read is enough for most; a file of /proc says 0 bytes and gives a page at a time.
            wanted = found.st_size + 1
            while left and (piece := file.read(min(wanted, left))):
                pieces.append(piece)
                left -= len(piece)
                wanted = max(wanted - len(piece), 65_536)
            if not left:
                raise _too_large(shown, limit + 1, limit)
            return b"".join(pieces)
    except OSError as error:
        if os.path.isdir(path):  # Windows calls that a lack of permission
            raise ToolError(f"{shown}: it is a folder.") from None
        raise failed(shown, error) from None


def replace(path: str, shown: str, data: bytes, *, expected: FileStat | None) -> FileStat:
    """Put ``data`` in the place of a file, whole or not at all.

    The new content is written beside the file (beside its target, for a link), flushed to the disk
    and renamed over it, so a reader sees the old or the new one and a full disk loses nothing.

    Raises:
        ToolError: it is no regular file, cannot be written, or is not the ``expected`` one any more.
    """
    target = os.path.realpath(path)
    old = facts(target, shown)
    _check_replaceable(old, target, shown)
    _check_unchanged(old, shown, expected)
    folder = os.path.dirname(target)
    fresh = os.path.join(folder, f".hermes-{os.urandom(6).hex()}.tmp")
    try:
        os.makedirs(folder, exist_ok=True)
        _fill(fresh, data, like=target if old.kind == "file" else "")
        _check_unchanged(facts(target, shown), shown, expected)
        os.replace(fresh, target)
    except OSError as error:
        raise failed(shown, error) from None
    finally:
        with contextlib.suppress(OSError):  # gone after the rename
            os.unlink(fresh)
    return facts(target, shown)


def remove(path: str, shown: str) -> None:
    """Remove one file. A link is refused: what the gate judged is its target.

    Raises:
        ToolError: it is a link, a folder, missing, or cannot be removed.
    """
    found = facts(path, shown)
    if found.is_link:
        raise ToolError(f"{shown}: it is a link.", hint="Remove it with rm, or name its target.")
    try:
        os.unlink(os.path.realpath(path))
    except OSError as error:
        if found.kind == "folder":
            raise ToolError(f"{shown}: it is a folder.") from None
        raise failed(shown, error) from None


def failed(shown: str, error: OSError) -> ToolError:
    """The system's reason, with the path that was asked for and not the one that failed."""
    if error.errno == errno.ENOENT:
        return ToolError(f"{shown}: no such file or folder.")
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
        return ToolError(f"{shown}: the disk is full.", hint="Make room, then try again.")
    return ToolError(f"{shown}: {(error.strerror or str(error)).lower()}.")


def _existing(path: str) -> str:
    """``path``, with names that exist only in another Unicode form replaced."""
    if (path.isascii() and " " not in path) or os.path.lexists(path):
        return path
    head, name = os.path.split(path)
    if head == path:
        return path
    head = _existing(head)
    wanted = _folded(name)
    try:
        found = [other for other in os.listdir(head) if _folded(other) == wanted]
    except OSError:
        found = []
    return os.path.join(head, found[0] if len(found) == 1 and name else name)


def _folded(name: str) -> str:
    import unicodedata  # half a megabyte, and rarely needed

    return unicodedata.normalize("NFC", name).replace("\u202f", " ")


def _fill(fresh: str, data: bytes, *, like: str) -> None:
    """Write and flush a new file, with the owner and mode of ``like`` or the umask's."""
    with open(os.open(fresh, _WRITE, 0o666), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if like:
        old, new = os.stat(like), os.stat(fresh)
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid) and hasattr(os, "chown"):
            with contextlib.suppress(PermissionError):  # only root can, and then it should
                os.chown(fresh, old.st_uid, old.st_gid)
        os.chmod(fresh, stat.S_IMODE(old.st_mode))


def _check_replaceable(old: FileStat, target: str, shown: str) -> None:
    if old.kind == "folder":
        raise ToolError(f"{shown}: it is a folder.")
    if old.kind == "other":
        raise ToolError(f"{shown}: not a regular file.")
    # A rename asks only the folder; a file that is write-protected is so on purpose.
    if old.kind == "file" and not os.access(target, os.W_OK):
        raise ToolError(f"{shown}: it is write-protected.")


def _check_unchanged(found: FileStat, shown: str, expected: FileStat | None) -> None:
    if expected is not None and (found.kind, found.size, found.modified) != (
        expected.kind,
        expected.size,
        expected.modified,
    ):
        raise ToolError(f"{shown}: it changed since it was read.", hint="Read it again first.")


def _too_large(shown: str, size: int, limit: int) -> ToolError:
    return ToolError(
        f"{shown}: {size:,} bytes or more; at most {limit:,} are read.",
        hint="Read a part of it with a command.",
    )
