"""An update: what belongs to Hermes, what is newer, and putting it in place."""

from __future__ import annotations

import asyncio
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Final

import msgspec

from hermes_plugins import CommandHost, HermesError, UsageError

from . import leftovers

HOST: Final = "hermes-host"
_EXTRA: Final = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")


class Update:
    """One update of this environment.

    Raises:
        UsageError: this is no installation that can be updated from here; says what to do in its place.
        HermesError: the installer cannot tell what is newer.
    """

    def __init__(self, host: CommandHost) -> None:
        refuse(host)
        self._host = host
        self._installer = host.installer()
        self._traces = leftovers.find(host.version)
        self.requirements = belonging()
        self.plan = self._installer.plan_update(self.requirements)

    def lines(self) -> Iterator[str]:
        """What is newer, and what else there is to do."""
        for new in self.plan:
            change = f"{new.before} -> {new.version}" if new.before else f"{new.version} (new)"
            yield f"{new.name} {change}"
        for folder in self._traces.folders:
            yield f"{folder.name}: left behind by an update that was cut off"
        for one in self._traces.mixed:
            yield f"{one.name}: half updated, {one.why}"
        if not self.plan:
            yield f"Nothing newer than {HOST} {self._host.version} and its plugins was found."

    def refuse_breaking(self, *, force: bool) -> None:
        """Stop before somebody else's plugin stops working.

        Raises:
            UsageError: one would.
        """
        broken = [(name, one) for one in self.plan for name in one.breaks]
        if broken and not force:
            name, by = broken[0]
            raise UsageError(
                f"{name} does not go with {by.name} {by.version}.",
                hint=f"`hermes plugins uninstall {name.partition(' ')[0]}`, ask its author for a newer "
                "one, or `hermes update --force`.",
            )

    def run(self) -> Iterator[str]:
        """Do it; yields what was done.

        Raises:
            HermesError: the installer failed; a second run cleans up.
        """
        planned = {one.name for one in self.plan}
        left = [*self._traces.folders, *(path for one in self._traces.mixed for path in one.stale)]
        if left:
            yield asyncio.run(leftovers.remove(left))
        again = [f"{one.name}=={one.keep}" for one in self._traces.mixed if one.name not in planned]
        try:
            if again:
                self._installer.reinstall(again)
                yield f"Put in place again: {', '.join(again)}."
            if self.plan:
                self._installer.update(self.requirements)
        except HermesError as error:
            raise HermesError(
                error.message, hint="`hermes update` again cleans up and tries anew."
            ) from error
        if again or self.plan:
            yield from self._looked_at()
            yield from self._running()

    def _looked_at(self) -> Iterator[str]:
        """Whether what is there now runs, in a process of its own."""
        status, said = _hermes("version")
        if status:
            raise HermesError(
                f"the new version does not start: {said[-300:]}",
                hint=f"Go back: `{_pip_line(self._installer.name)} {HOST}=={self._host.version}`",
            )
        yield f"Updated: {said}."
        status, said = _hermes("plugins", "check")
        if status:
            yield from said.splitlines()

    def _running(self) -> Iterator[str]:
        for profile, process in self._host.gateways().items():
            name = f"hermes -p {profile}" if profile else "hermes"
            which = f"process {process}" if process else "of another place"
            whose = f" of {profile}" if profile else ""
            yield (
                f"The gateway{whose} ({which}) still runs the old version: "
                f"`{name} gateway stop`, then `{name} gateway run`."
            )


def refuse(host: CommandHost) -> None:
    """Leave alone what somebody else keeps up to date.

    Raises:
        UsageError: names that, and its command.
    """
    tools = {"uv-receipt.toml": "uv tool upgrade", "pipx_metadata.json": "pipx upgrade"}
    for file, command in tools.items():
        if (Path(sys.prefix) / file).exists():
            raise UsageError(
                f"Hermes was installed with {command.rpartition(' ')[0]}, which keeps its own list.",
                hint=f"`{command} {HOST}`",
            )
    try:
        origin = distribution(HOST).read_text("direct_url.json")
    except PackageNotFoundError as error:
        raise UsageError(
            f"{HOST} is not installed as a distribution.", hint=f"`pip install '{HOST}[default]'`"
        ) from error
    facts = msgspec.json.decode(origin, type=_Origin) if origin else _Origin()
    folder = facts.url.removeprefix("file://")
    if facts.dir_info is not None:
        kind = "a development checkout" if facts.dir_info.editable else "a folder"
        then = f"make -C {shlex.quote(folder)}" if facts.dir_info.editable else "install it again"
        raise UsageError(
            f"Hermes runs from {kind}, {folder}.",
            hint=f"`git -C {shlex.quote(folder)} pull`, then `{then}`."
            if facts.dir_info.editable
            else f"`git -C {shlex.quote(folder)} pull`, then {then} from there.",
        )
    if facts.vcs_info is not None:
        raise UsageError(
            f"Hermes was installed from {facts.url}.",
            hint=f"`pip install --upgrade {facts.vcs_info.vcs}+{facts.url}`",
        )


class _Folder(msgspec.Struct):
    editable: bool = False


class _Repository(msgspec.Struct):
    vcs: str = "git"


class _Origin(msgspec.Struct):
    """direct_url.json (PEP 610), as far as it is needed."""

    url: str = ""
    dir_info: _Folder | None = None
    vcs_info: _Repository | None = None


def belonging() -> list[str]:
    """Requirements of what belongs to Hermes here: the host with the extra that is there whole, and each
    built-in plugin that is installed. The order is that of the names."""
    extras: dict[str, list[str]] = {}
    for line in distribution(HOST).requires or ():
        if match := _EXTRA.search(line):
            name = re.split(r"[\s<>=!~;(]", line, maxsplit=1)[0]
            extras.setdefault(match[1], []).append(name)
    whole = [
        extra
        for extra in ("all", "default")
        if all(_version(name.partition("[")[0]) for name in extras.get(extra, [""]))
    ]
    plugins = {
        name
        for names in extras.values()
        for name in names
        if name.startswith("hermes-plugin-") and _version(name)
    }
    return [f"{HOST}[{whole[0]}]" if whole else HOST, *sorted(plugins)]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _hermes(*arguments: str) -> tuple[int, str]:
    """Run what is installed now; its status and what it printed."""
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "hermes_core.cli.main", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    return ended.returncode, ended.stdout.strip()


def _pip_line(name: str) -> str:
    words: Sequence[str] = ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join(words if name == "uv" else [sys.executable, "-m", "pip", "install"])
