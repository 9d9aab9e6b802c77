"""Paths that file tools may not touch, whoever asks: keys, credentials, the system, this program.

An aid, not a boundary: the environment is the boundary. Both sides are resolved at the time of the
question, so links and ``..`` do not help. Called by the gate, and by handlers at the time of use.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from hermes_core.gate.words import word_set
from hermes_core.patterns import lazy

_HOME_FILES = word_set(".netrc .pgpass .npmrc .pypirc .git-credentials .docker/config.json")
_HOME_FOLDERS = word_set(
    ".ssh .aws .gnupg .kube .docker .azure .config/gh .config/gcloud .password-store"
)
_HOME_SECRETS = _HOME_FILES | _HOME_FOLDERS
_SYSTEM = tuple(
    sorted(
        word_set(
            "/etc /boot /bin /sbin /lib /lib64 /usr/bin /usr/sbin /usr/lib /dev /proc /sys /private/etc "
            "/private/var/db /private/var/root /System /Library /run/docker.sock /var/run/docker.sock "
            "/var/lib/dpkg /root/.ssh C:/Windows"
        )
    )
)
_DEVICES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
_OWN = word_set("hermes.yaml .env auth.json mcp-tokens sessions pairing plugins memories logs")
_OWN_SECRET = word_set(".env auth.json mcp-tokens pairing")
_SYSTEM_SECRET = lazy(r"/proc/.*/(?:environ|mem)|(?:/private)?/etc/g?shadow-?")
_DOTENV = lazy(r"\.env(?:\.(?:local|development|production|test|staging))?|\.envrc")
_KEY_FILE = lazy(r"id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|authorized_keys")


class ProtectedPaths:
    """Answers with a reason, or "" where there is no objection.

    ``write_root`` (folders separated as in PATH), where given, holds all that may be written at
    all. ``runtime`` is what this program runs from: its interpreter and its packages.
    """

    def __init__(
        self,
        home: Path,
        hermes_home: Path,
        *,
        write_root: str = "",
        runtime: Sequence[str] = (),
        ignore_case: bool = sys.platform in ("win32", "darwin"),
    ) -> None:
        self.home = str(home)
        self._hermes_home = str(
            hermes_home.parent.parent if hermes_home.parent.name == "profiles" else hermes_home
        )
        self._write_root = [root for root in write_root.split(os.pathsep) if root]
        self._runtime = tuple(runtime)
        self._ignore_case = ignore_case
        self._resolved: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {}
        real_home = os.path.realpath(home)
        self._home_secrets = tuple(os.path.join(real_home, name) for name in _HOME_SECRETS)

    @cached_property
    def _own_home(self) -> str:
        return self._full(self._hermes_home)

    def write_reason(self, path: str) -> str:
        """Why ``path`` may not be written, made or removed."""
        if own := self.own_reason(path):
            return own
        full = self._full(path)
        if full in _DEVICES:
            return ""
        if _KEY_FILE.fullmatch(os.path.basename(full)) or self._is_home_secret(full):
            return "it holds keys or credentials of the owner"
        if any(_is_below(full, form) for form in self._forms("system", _SYSTEM)):
            return "it belongs to the operating system"
        if self._write_root and not self._below(full, self._write_root):
            return f"only {', '.join(self._write_root)} may be written (gate.write_root)"
        return ""

    def read_reason(self, path: str) -> str:
        """Why ``path`` may not be read."""
        full = self._full(path)
        name = os.path.basename(full)
        if _DOTENV.fullmatch(name):
            return "it is an environment file with secrets"
        if self._own_part(full) in _OWN_SECRET:
            return "it holds credentials of Hermes"
        if _KEY_FILE.fullmatch(name) or self._is_home_secret(full):
            return "it holds keys or credentials of the owner"
        if _SYSTEM_SECRET.fullmatch(full):
            return "it holds secrets of the system or of a process"
        return ""

    def own_reason(self, path: str, *, removing: bool = False) -> str:
        """Why a change of ``path`` would change Hermes itself; its parents too when ``removing``."""
        full = self._full(path)
        part = self._own_part(full)
        if part in _OWN or part.startswith("state.db"):
            return "it is part of Hermes: its settings, secrets, plugins or records"
        if self._below(full, self._runtime):
            return "Hermes runs from it"
        kept = [self._hermes_home, *self._runtime] if removing else []
        if any(_is_below(self._full(one), full) for one in kept):
            return "Hermes itself is in it"
        return ""

    def holds_secrets(self, folder: str) -> bool:
        """Whether reading everything below ``folder`` would read what is protected."""
        full = self._full(folder)
        return any(
            _is_below(self._full(one), full) for one in (self._hermes_home, self.home, "/etc")
        )

    def inside(self, path: str, folder: str) -> bool:
        """Whether ``path`` is ``folder`` or below it, links followed."""
        return bool(folder) and self._below(self._full(path), [folder])

    def _own_part(self, full: str) -> str:
        """The name directly under the home of Hermes (or of one of its profiles) that holds it."""
        base = self._own_home
        if not _is_below(full, base):
            return ""
        parts = full[len(base) :].replace("\\", "/").strip("/").split("/")
        return parts[2] if parts[0] == "profiles" and len(parts) > 2 else parts[0]

    def _is_home_secret(self, full: str) -> bool:
        return any(_is_below(full, form) for form in self._forms("home", self._home_secrets))

    def _below(self, full: str, folders: Iterable[str]) -> bool:
        return any(_is_below(full, self._full(folder)) for folder in folders)

    def _forms(self, table: str, folders: Sequence[str]) -> tuple[str, ...]:
        """The folders of a long table, as they are written and with links followed.

        Resolved again only when one of the folders that they stand in has changed: a judgement
        costs a look at those few instead of at every entry.
        """
        stamp = tuple(map(_changed, sorted({os.path.dirname(folder) for folder in folders})))
        kept = self._resolved.get(table)
        if kept is None or kept[0] != stamp:
            forms = [self._fold(os.path.normpath(folder)) for folder in folders]
            forms += [self._full(folder) for folder in folders]
            kept = self._resolved[table] = (stamp, tuple(dict.fromkeys(forms)))
        return kept[1]

    def _full(self, path: str) -> str:
        if path == "~" or path.startswith(("~/", "~\\")):
            path = self.home + path[1:]
        full = os.path.realpath(path.replace("\0", ""))
        if sys.platform == "win32":  # NTFS: an alternate stream, trailing dots and spaces
            drive, rest = os.path.splitdrive(full)
            full = drive + rest.split(":", 1)[0].rstrip(". ")
        return self._fold(full)

    def _fold(self, path: str) -> str:
        return unicodedata.normalize("NFC", path).casefold() if self._ignore_case else path


def _changed(folder: str) -> int:
    """When an entry of ``folder`` was last made, removed or replaced; 0 where it is missing."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _is_below(full: str, folder: str) -> bool:
    return full == folder or full.startswith(folder.rstrip("/\\") + os.sep)
