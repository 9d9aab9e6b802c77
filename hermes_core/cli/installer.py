"""The environment's own installer (pip, else uv) behind a few verbs.

Commands are argument lists, never shell lines. The working directory's modules and programs are not
used, and a child does not see the secrets of this process.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from hermes_core.config import process_environment
from hermes_core.config_tree import is_secret_name
from hermes_core.versions import outside
from hermes_plugins import HermesError, PlannedPackage, UsageError

# What it would add (+) or put in anew (~); a folder has its address in place of a version.
_UV_LINE: Final = re.compile(r"^ [+~] ([A-Za-z0-9._-]+)(?:==(\S+)| @ )", re.MULTILINE)


_REQUIRED: Final = re.compile(r"([A-Za-z0-9._-]+)\s*(?:\[[^]]*\])?\s*\(?([^;)]*)\)?")


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """One package that an install would add or change; ``asked`` is the one that was named.

    ``version`` is "" where the installer does not tell it, as uv of a folder.
    """

    name: str
    version: str
    asked: bool


class Installer(msgspec.Struct, frozen=True, kw_only=True):
    """pip or uv, working on the environment that runs this process."""

    command: tuple[str, ...]
    is_pip: bool

    def plan(self, requirement: str, *, name: str) -> list[Planned]:
        """What an install would do, asked without doing it; ``name`` is the distribution's.

        Raises:
            HermesError: there is no such distribution, or no set of versions that fits.
        """
        dry = [*self.command, "install", "--dry-run"]
        if not self.is_pip:
            # Nothing is written, so an environment that belongs to the system may be asked as well.
            told = _run([*dry, *self._here, "--break-system-packages", requirement])
            return [
                Planned(name=normal_name(found), version=version, asked=normal_name(found) == name)
                for found, version in _UV_LINE.findall(told)
            ]
        with TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            _run([*dry, "--quiet", "--report", str(report), requirement])
            rows = json.loads(report.read_text(encoding="utf-8"))["install"]
        return [
            Planned(
                name=normal_name(row["metadata"]["name"]),
                version=row["metadata"]["version"],
                asked=row["requested"],
            )
            for row in rows
        ]

    def install(self, requirement: str) -> None:
        """Install into the environment.

        Raises:
            HermesError: the installer failed.
        """
        _run([*self.command, "install", *self._here, requirement])

    def install_into(self, folder: Path, requirements: Sequence[str]) -> None:
        """Install exactly these, without what they depend on, into a folder.

        Raises:
            HermesError: the installer failed.
        """
        place = [*self._here, "--no-deps", "--target", str(folder)]
        _run([*self.command, "install", *place, *requirements])

    def uninstall(self, name: str) -> None:
        """Remove a distribution from the environment.

        Raises:
            HermesError: the installer failed.
        """
        options = ["--yes"] if self.is_pip else self._here
        _run([*self.command, "uninstall", *options, name])

    # -- the kit's `PackageInstaller`: what is here, brought up to date ---------------------

    @property
    def name(self) -> str:
        """pip or uv."""
        return "pip" if self.is_pip else "uv"

    def plan_update(self, requirements: Sequence[str]) -> list[PlannedPackage]:
        """What bringing these up to date would change, asked without doing it.

        Raises:
            HermesError: the index cannot be reached, or no set of versions fits.
        """
        command = [*self.command, "install", "--dry-run", *self._up_to_date(requirements)]
        if not self.is_pip:
            found = [(name, version) for name, version in _UV_LINE.findall(_run(command))]
        else:
            with TemporaryDirectory() as folder:
                report = Path(folder) / "report.json"
                told = _run([*command, "--quiet", "--report", str(report)])
                rows = json.loads(report.read_text(encoding="utf-8"))["install"]
            if "Retrying (" in told and not rows:  # pip takes what is here for the newest then
                raise HermesError(
                    "the package index cannot be reached.",
                    hint="Nothing was changed. Check the network, or PIP_INDEX_URL.",
                )
            found = [(row["metadata"]["name"], row["metadata"]["version"]) for row in rows]
        planned = {normal_name(name): version for name, version in found}
        broken = _broken_by(planned)
        return [
            PlannedPackage(
                name=name,
                version=version,
                before=_version_of(name),
                breaks=tuple(broken.get(name, ())),
            )
            for name, version in planned.items()
        ]

    def update(self, requirements: Sequence[str]) -> None:
        """Bring these up to date; others change only where these need it.

        Raises:
            HermesError: the installer failed.
        """
        _run([*self.command, "install", *self._up_to_date(requirements)])

    def reinstall(self, requirements: Sequence[str]) -> None:
        """Put exactly these into place again, without what they need.

        Raises:
            HermesError: the installer failed.
        """
        anew = "--force-reinstall" if self.is_pip else "--reinstall"
        _run([*self.command, "install", *self._here, anew, "--no-deps", *requirements])

    def _up_to_date(self, requirements: Sequence[str]) -> list[str]:
        if self.is_pip:
            return ["--upgrade", *requirements]
        names = [one.partition("[")[0] for one in requirements]
        named = [word for name in names for word in ("--upgrade-package", name)]
        return [*self._here, *named, *requirements]

    @property
    def _here(self) -> list[str]:
        return [] if self.is_pip else ["--python", sys.executable]


def find_installer() -> Installer:
    """pip of this environment, else uv.

    Raises:
        UsageError: neither is there.
    """
    from importlib.util import find_spec

    if find_spec("pip") is not None:
        # -P: the working directory's modules are not imported.
        pip = (sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "--no-input")
        return Installer(command=pip, is_pip=True)
    uv = shutil.which("uv")
    # On Windows `which` looks into the working directory first, and answers with a relative path then.
    if uv and os.path.isabs(uv):
        return Installer(command=(uv, "pip"), is_pip=False)
    raise UsageError(
        "there is neither pip nor uv to install with.",
        hint=f"`{sys.executable} -m ensurepip` brings pip.",
    )


def find_updater() -> Installer:
    """What installed Hermes, where that is here; else as `find_installer`.

    Raises:
        UsageError: neither pip nor uv is there.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        by = (distribution("hermes-host").read_text("INSTALLER") or "").strip()
    except PackageNotFoundError:
        by = ""
    uv = shutil.which("uv") if by == "uv" else None
    if uv and os.path.isabs(uv):
        return Installer(command=(uv, "pip"), is_pip=False)
    return find_installer()


def is_environment_writable() -> bool:
    """Whether packages may be put into this environment: writable, and not the system's (PEP 668)."""
    is_venv = sys.prefix != sys.base_prefix
    marker = Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED"
    if not is_venv and marker.exists():
        return False
    return os.access(sysconfig.get_path("purelib"), os.W_OK)


def normal_name(name: str) -> str:
    """A distribution's name in the spelling that is equal for equal names (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _version_of(name: str) -> str:
    """The version that is installed now; "" for none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _broken_by(planned: Mapping[str, str]) -> Mapping[str, list[str]]:
    """Installed distributions that would stay and ask for other versions, by what breaks them.

    Requirements with a marker are left out: they may not count here.
    """
    from importlib.metadata import distributions

    broken: dict[str, list[str]] = {}
    for one in distributions():
        owner = normal_name(one.name)
        for line in () if owner in planned else one.requires or ():
            match = _REQUIRED.fullmatch(line.strip())
            name = normal_name(match[1]) if match else ""
            if match and planned.get(name) and outside(match[2], version=planned[name]):
                broken.setdefault(name, []).append(f"{owner} {one.version}")
    return broken


def _run(command: Sequence[str]) -> str:
    ended = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env=_child_environment(),
        check=False,
    )
    if ended.returncode:
        lines = [line.strip() for line in ended.stdout.splitlines() if line.strip()]
        errors = [line for line in lines if line.lower().startswith(("error", "×", "╰"))]
        said = " ".join((errors or lines)[-2:])
        raise HermesError(
            f"the installer failed: {said[:500]}",
            hint=f"Nothing was changed. `{shlex.join(command)}` shows all of it.",
        )
    return ended.stdout


def _child_environment() -> dict[str, str]:
    """This process' variables without its secrets; the installer keeps its own."""
    return {
        name: value
        for name, value in process_environment().items()
        if name.upper().startswith(("PIP_", "UV_")) or not is_secret_name(name)
    }
