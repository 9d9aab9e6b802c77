"""The shell: which one, and how the working directory and exports of a session carry over.

A shell writes both to a file when it exits, from its own EXIT trap, so nothing a command prints can
be taken for them. A command that sets an EXIT trap of its own, or replaces the shell with ``exec``,
carries nothing over.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from hermes_plugins import ToolError

from . import files

MAX_STATE = 256_000
"""Bytes of variables that may carry over; Linux passes at most 2 MB to a program, with its arguments."""

# $1 is the command, $2 the file. ``command -p`` finds env even when PATH was broken.
_CARRYING = """\
__hermes_line=$1 __hermes_file=$2; shift 2
trap '{ printf "%s\\0" "$PWD"
command -p env -0 || command -p env; } >|"$__hermes_file" 2>/dev/null' EXIT
eval "$__hermes_line"
"""

_OF_THE_SHELL = ("PWD", "SHLVL", "_")
_KNOWN = ("bash", "zsh", "sh")
_FALLBACKS = ("/bin/bash", "/usr/bin/bash", "/bin/sh")


class Carried(msgspec.Struct, frozen=True):
    """What a session keeps from one command to the next. A variable that is None was unset."""

    cwd: str = ""
    variables: dict[str, str | None] = {}


def choose(configured: str, variables: Mapping[str, str]) -> str:
    """Path of the shell.

    Raises:
        ToolError: the configured one is not there.
    """
    if configured:
        import shutil

        found = shutil.which(os.path.expanduser(configured), path=variables.get("PATH"))
        if not found:
            raise ToolError(
                f"the shell {configured!r} was not found.",
                hint="Set plugins.terminal.shell to a shell that is installed.",
            )
        return found
    if os.name == "nt":
        return _of_windows(variables)
    own = variables.get("SHELL", "")
    choices = (own, *_FALLBACKS) if os.path.basename(own) in _KNOWN else _FALLBACKS
    return next((path for path in choices if os.access(path, os.X_OK)), "/bin/sh")


def argv(shell: str, line: str, *, state: str = "") -> list[str]:
    """The argument list that runs ``line``; ``state`` names the file that receives what carries over."""
    if is_powershell(shell):
        return [shell, "-NoProfile", "-NonInteractive", "-Command", line]
    if state:
        return [shell, "-c", _CARRYING, os.path.basename(shell), line, state]
    return [shell, "-c", line]


def is_powershell(shell: str) -> bool:
    """PowerShell takes other arguments, and nothing carries over."""
    return os.path.basename(shell).lower() in ("powershell.exe", "pwsh.exe", "pwsh")


def read_state(path: str, before: Mapping[str, str], carried: Carried) -> Carried:
    """What carries over after a command that started with the variables ``before``.

    ``carried`` is what carried over until then; it stands where the shell left nothing.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_STATE * 4)
    except OSError:
        return carried
    folder, _, rest = os.fsdecode(data).partition("\0")
    if not folder:
        return carried
    if os.name == "nt":
        folder = files.from_git_bash(folder)
    after = _parse(rest)
    if not after:  # the shell could not say
        return Carried(folder, carried.variables)
    changed: dict[str, str | None] = dict(carried.variables)
    for name in before.keys() - after.keys():
        if name.isidentifier():  # others a shell may drop of itself
            changed[name] = None
    changed.update((name, after[name]) for name in after if before.get(name) != after[name])
    for name in _OF_THE_SHELL:
        changed.pop(name, None)
    if sum(len(name) + len(value or "") for name, value in changed.items()) > MAX_STATE:
        changed = carried.variables
    return Carried(folder, changed)


def apply(variables: dict[str, str], carried: Mapping[str, str | None]) -> None:
    """Change ``variables`` as an earlier command left them."""
    for name, value in carried.items():
        if value is None:
            variables.pop(name, None)
        else:
            variables[name] = value


def _parse(text: str) -> dict[str, str]:
    """``env -0``, or plain ``env`` where that is too old (values of one line only)."""
    entries = text.split("\0") if "\0" in text else text.splitlines()
    pairs = (entry.partition("=") for entry in entries)
    return {name: value for name, equals, value in pairs if name and equals}


def _of_windows(variables: Mapping[str, str]) -> str:
    """Git Bash, else PowerShell. Not any bash on PATH: System32 holds one that starts WSL."""
    for name in ("ProgramFiles", "ProgramW6432", "LOCALAPPDATA"):
        base = variables.get(name) or variables.get(name.upper())
        for parts in (("Git",), ("Programs", "Git")):
            bash = os.path.join(base or "", *parts, "bin", "bash.exe")
            if base and os.path.isfile(bash):
                return bash
    return "powershell.exe"
