"""The hard floor: what no mode, answer, rule or environment ever lets run.

Every simple command is judged by its base name, wherever in the line it stands and however it is
spelled; see `words` for what is taken apart. Not a boundary against somebody who means harm (a
program may do any of this from within); it stops what an agent does by mistake.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Sequence

from hermes_core.gate.words import UNKNOWN, Simple, word_set
from hermes_core.patterns import lazy

_SYSTEM = word_set(
    "/ /applications /bin /boot /dev /etc /home /lib /lib32 /lib64 /library /opt /private "
    "/private/etc /private/var /proc /root /sbin /srv /sys /system /users /usr /usr/bin /usr/lib "
    "/usr/local /usr/sbin /usr/share /var /var/lib /var/log /windows /mnt/c /c"
)
_DRIVE = lazy(r"[a-z]:[\\/]*(?:windows|users|program files)?[\\/]*", re.IGNORECASE)
_DEVICE = lazy(
    r"/dev/(?:[shv]d[a-z]|xvd[a-z]|nvme\d|mmcblk\d|disk\d|rdisk\d|dm-\d|md\d|mapper/)"
    r"|/proc/sysrq-trigger|\\\\\.\\physicaldrive",
    re.IGNORECASE,
)
_FORK_BOMB = lazy(r"([\w:.]{1,40})(?:\(\))?\{\1(?:\(\))?\|&?\1(?:\(\))?&\};?\1")
_POWER = frozenset({"shutdown", "reboot", "halt", "poweroff", "stop-computer", "restart-computer"})
_A_HOME = lazy(r"(?:/home|/users)/[^/]+|(?:.*/)?~\w+")
_UNFILTERED = frozenset({"-delete", "-depth", "-mindepth", "-maxdepth", "-type", "-xdev", "-print"})
_FORMATTERS = frozenset({"mkfs", "mke2fs", "newfs", "mkswap", "wipefs", "blkdiscard"})


def text_reason(command: str) -> str:
    """Why the whole text may never run, or ""."""
    if _FORK_BOMB.search(re.sub(r"\s+", "", command)):
        return "it is a fork bomb"
    return ""


def reason(commands: Sequence[Simple], *, home: str, cwd: str) -> str:
    """Why one of ``commands`` may never run, or "". ``home`` and ``cwd`` are absolute or ""."""
    for simple in commands:
        if any(">" in operator and _DEVICE.match(target) for operator, target in simple.redirects):
            return "it writes to a raw device"
        if not simple.inner:
            continue
        name, *arguments = simple.inner
        if found := _by_name(name, arguments):
            return found
        if _deletes_recursively(name, arguments) and any(
            _is_root(word, home, cwd) for word in arguments
        ):
            return "it deletes a system folder or a whole home"
        if name == "cd":
            target = arguments[0] if arguments else home
            cwd = "" if UNKNOWN in target else _absolute(target, home, cwd)
    return ""


def _by_name(name: str, arguments: list[str]) -> str:
    if name in _POWER:
        return "it turns the machine off"
    if name in ("init", "telinit") and arguments[:1] in (["0"], ["6"]):
        return "it turns the machine off"
    if name in ("systemctl", "loginctl") and {"poweroff", "reboot", "halt", "kexec"} & set(
        arguments
    ):
        return "it turns the machine off"
    if name in _FORMATTERS or name.startswith("mkfs.") or (name == "format" and _drives(arguments)):
        return "it formats a disk"
    if _to_device(name, arguments):
        return "it writes to a raw device"
    if (name == "kill" and _kills_all(arguments)) or name == "killall5":
        return "it ends every process"
    return ""


def _drives(arguments: list[str]) -> bool:
    return any(_DRIVE.fullmatch(word) for word in arguments)


def _to_device(name: str, arguments: list[str]) -> bool:
    if name == "dd":
        return any(word.startswith("of=") and _DEVICE.match(word[3:]) for word in arguments)
    if name in ("cp", "mv", "install"):
        arguments = arguments[-1:]
    elif name not in ("tee", "shred", "badblocks", "truncate"):
        return False
    return any(_DEVICE.match(word) for word in arguments)


def _kills_all(arguments: list[str]) -> bool:
    if len(arguments) > 1 and arguments[0] in ("-s", "-n", "--signal"):
        arguments = arguments[2:]
    elif len(arguments) > 1 and arguments[0].startswith("-") and arguments[0] != "--":
        arguments = arguments[1:]
    return "-1" in arguments


def _deletes_recursively(name: str, arguments: list[str]) -> bool:
    lowered = [word.lower() for word in arguments]
    if name in ("rm", "remove-item", "ri"):
        return any(re.match(r"-[a-z]*r|--r", word) for word in lowered)
    if name in ("rd", "rmdir", "del", "erase"):
        return "/s" in lowered or any(word.startswith("-r") for word in lowered)
    if name == "find":
        options = {word for word in lowered if word.startswith("-")}
        return "-delete" in options and not options - _UNFILTERED
    return name == "rsync" and any(word.startswith("--delete") for word in lowered)


def _absolute(path: str, home: str, cwd: str) -> str:
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    if not path.startswith("/"):
        path = f"{cwd}/{path}" if cwd else path
    return re.sub("^//+", "/", posixpath.normpath(path))


def _is_root(path: str, home: str, cwd: str) -> bool:
    """Whether ``path`` names a system folder, a home, a drive, or everything inside one."""
    if UNKNOWN in path or path.startswith("-") or not path:
        return False
    folder = re.sub(r"(?:/(?:\*|\.|\.\*|\.\?\*|\{[*.,?]*\}))+/*$", "/", path)
    if folder in ("*", ".*", "{*,.*}"):
        folder = "."
    if _DRIVE.fullmatch(folder):
        return True
    full = _absolute(folder, home, cwd).lower()
    homes = {home.lower().rstrip("/")} - {""}
    if full in _SYSTEM or full in homes or _A_HOME.fullmatch(full):
        return True
    return any(char in full for char in "*?[") and any(
        fnmatch.fnmatchcase(system, full) for system in _SYSTEM | homes
    )
