"""What a replayed call may touch: the test's own folder, nothing else of the machine or the network.

An aid, not a sandbox: of a command it sees what is written in it. What a script does that the command
starts, it cannot see.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from hermes_plugins._decisions import Allow, CallView, Decision, Deny
from hermes_plugins._markers import hookimpl

_DEVICES = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"})
_PROGRAMS = ("/bin/", "/usr/bin/", "/usr/local/bin/")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ADDRESS = re.compile(r"\w+://|[\w.-]+@[\w.-]+:")
_IN_CODE = re.compile(r"(?<![\w.~/-])(/[\w.-]+)(?:/[\w./-]*)?|(?<!\w)~/")
_CODE = re.compile(r"[\s'\"(){};]")

_ELSEWHERE = frozenset({
    "apk", "apt", "apt-get", "at", "aws", "az", "brew", "chroot", "conda", "crontab", "curl",
    "dig", "dnf", "doas", "docker", "ftp", "gcloud", "gh", "host", "kill", "killall",
    "kubectl", "launchctl", "mail", "mount", "nc", "ncat", "nslookup", "pacman", "ping",
    "pkill", "podman", "reboot", "scp", "sendmail", "service", "sftp", "shutdown", "snap",
    "ssh", "su", "sudo", "systemctl", "telnet", "umount", "wget", "yum",
})  # fmt: skip
"""Programs whose work is not in a folder."""
_VERBS = {
    "git": {"push", "pull", "fetch"},
    "pip": {"install", "uninstall", "download"},
    "pip3": {"install", "uninstall", "download"},
    "uv": {"install", "add", "sync", "publish"},
    "npm": {"install", "i", "ci", "add", "publish"},
    "pnpm": {"install", "i", "add", "publish"},
    "yarn": {"install", "add", "publish"},
    "cargo": {"install", "publish"},
    "go": {"install", "get"},
}
"""The same of what else works in a folder."""


class Inside:
    """A policy: denies what reaches out of ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = os.path.realpath(folder)

    @hookimpl
    async def hermes_before_tool_call(self, call: CallView) -> Decision:
        reason = next(self._objections(call), "")
        return Deny(f"not done in a replay: {reason}") if reason else Allow()

    def _objections(self, call: CallView) -> Iterator[str]:
        effects = call.effects
        if effects.unknown:
            yield "it does not say what it touches"
        for path in (*effects.reads, *effects.writes):
            if not self._holds(path, call.workspace):
                yield f"{path} is outside the workspace"
        for place in (*effects.fetches, *effects.sends):
            if not _is_loopback(place):
                yield f"{place} is not on this machine"
        for command in effects.runs:
            yield from self._in_command(command, call.workspace)

    def _in_command(self, command: str, workspace: str) -> Iterator[str]:
        from hermes_core.gate.words import TooComplex, simple_commands

        home = os.path.join(self._folder, "person")
        try:
            found = simple_commands(command, variables={"HOME": home, "PWD": workspace})
        except TooComplex as error:
            yield str(error)
            return
        for simple in found:
            names = {os.path.basename(word) for word in (*simple.argv[:1], *simple.inner[:1])}
            words = set(simple.argv)
            if name := next(iter(names & _ELSEWHERE), ""):
                yield f"{name} acts on more than the workspace"
            for name, verbs in _VERBS.items():
                if name in {os.path.basename(word) for word in simple.argv} and words & verbs:
                    yield f"{name} {next(iter(words & verbs))} acts on more than the workspace"
            targets = [target for _, target in simple.redirects]
            for word in (*simple.argv, *targets):
                yield from self._in_word(word, workspace)

    def _in_word(self, word: str, workspace: str) -> Iterator[str]:
        if _ADDRESS.search(word):
            if not _is_loopback(word):
                yield f"{word} is not on this machine"
            return
        if _CODE.search(word):
            for match in _IN_CODE.finditer(word):
                if match[1] is None or (os.path.isdir(match[1]) and not self._may(match[0])):
                    yield f"{match[0]} is outside the workspace"
            return
        value = word.rpartition("=")[2] if word.startswith("-") or "=" in word else word
        reaches = value.startswith(("/", "~", "\\")) or ".." in value or os.path.isabs(value)
        if reaches and not self._may(value) and not self._holds(value, workspace):
            yield f"{value} is outside the workspace"

    def _may(self, path: str) -> bool:
        """What is no file of anybody, or only run."""
        return path in _DEVICES or path.startswith(_PROGRAMS) or self._holds(path, "")

    def _holds(self, path: str, workspace: str) -> bool:
        if path.startswith("~"):  # a child's home is the test's own
            return path == "~" or path.startswith("~/")
        full = os.path.realpath(os.path.join(workspace or os.sep, path))
        return full == self._folder or full.startswith(self._folder + os.sep)


def _is_loopback(place: str) -> bool:
    host = urlsplit(place if "://" in place else f"//{place}").hostname or ""
    return host in _LOOPBACK
