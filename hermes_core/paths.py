"""Where things are on disk: the home, its profiles, and writing a file whole or not at all.

One resolver for everybody; no other file of the kernel works out the home. It makes no folder:
folders are made by whoever writes something.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from hermes_core.patterns import lazy
from hermes_plugins import HermesError, Paths, UsageError

_PROFILE = lazy(r"[a-z0-9][a-z0-9_-]{0,63}")
_GIT_BASH = lazy(r"/([A-Za-z])(?:/(.*))?")

SETTINGS_FILE = "hermes.yaml"
SECRETS_FILE = ".env"
PROFILE_FILE = "default-profile"
"""In the home itself: the profile that is used where none is named."""


def resolve_paths(environ: Mapping[str, str], *, profile: str = "") -> Paths:
    """The folders of the chosen home.

    The home is HERMES_HOME, else the platform's user data place for "hermes". A profile
    (``profile``, else HERMES_PROFILE, else what `choose_profile` wrote) is a home of its own in
    profiles/NAME; "default" is the home itself.

    Raises:
        UsageError: the name of the profile is not one, the chosen one is gone, or there is no home to
            find.
    """
    home = _root(environ)
    name = profile or environ.get("HERMES_PROFILE", "")
    if not name and (name := chosen_profile(home)) and not (home / "profiles" / name).is_dir():
        raise UsageError(
            f"the profile {name!r} that `hermes profile use` chose is gone.",
            hint="`hermes -p default profile use default` goes back to the home itself.",
        )
    if name and not _PROFILE.fullmatch(name):
        raise UsageError(
            f"{name!r} is no profile name.",
            hint="Use 1 to 64 of a-z, 0-9, - and _, first a letter or a digit: `hermes -p work`",
        )
    if name and name != "default":
        home = home / "profiles" / name
    return Paths(home=home, cache=home / "cache", logs=home / "logs")


def chosen_profile(root: Path) -> str:
    """The profile of a home that is used where none is named; "" for the home itself."""
    try:
        return (root / PROFILE_FILE).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def choose_profile(root: Path, name: str) -> None:
    """Use a profile where none is named from now on; "" or "default" is the home itself.

    Raises:
        UsageError: there is no such profile, or the choice cannot be written.
    """
    file = root / PROFILE_FILE
    if name and name != "default":
        if not _PROFILE.fullmatch(name) or not (root / "profiles" / name).is_dir():
            raise UsageError(f"there is no profile {name!r}.", hint="`hermes profile list`")
        write_whole(file, f"{name}\n".encode())
        return
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"{file} cannot be removed: {error.strerror}.") from error


def native_path(text: str, *, windows: bool = os.name == "nt") -> str:
    """``text`` as this system writes it: on Windows, Git Bash's ``/c/Users`` becomes ``C:\\Users``."""
    match = _GIT_BASH.fullmatch(text) if windows else None
    if match is None:
        return text
    return f"{match[1].upper()}:\\" + (match[2] or "").replace("/", "\\")


def check_home(paths: Paths) -> str:
    """What keeps this home from being used, in one line; "" when nothing does.

    Checked at the start, by whoever needs the home: what is said here ends the program, which does
    not go on without a history that its user believes is kept.
    """
    place = paths.home
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    if not place.is_dir():
        return f"{place} is not a folder, so {paths.home} cannot be the home. {_HINT}"
    need = os.R_OK | os.W_OK | os.X_OK if place == paths.home else os.W_OK | os.X_OK
    if os.access(place, need):
        return ""
    if place != paths.home:
        return f"{paths.home} cannot be made: {place} is not writable. {_HINT}"
    deed = "written" if os.access(place, os.R_OK | os.X_OK) else "read"
    return f"The home {place} cannot be {deed}. {_HINT}"


def make_home(paths: Paths) -> None:
    """Make the home where it is missing, for its owner's eyes alone.

    Raises:
        HermesError: it cannot be made.
    """
    try:
        paths.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise HermesError(f"{paths.home} cannot be made: {error.strerror}. {_HINT}") from error


def write_whole(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace a file's content at once; a failing write leaves the old content whole.

    Links are written through. The mode is ``mode``, else the file's own, else 0600: the files that
    this is for may hold secrets.

    Raises:
        UsageError: the file cannot be written; names the file, not the temporary one.
    """
    target = Path(os.path.realpath(path))
    spare = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if mode is None:
            mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        handle = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, 0o600)
        try:
            with open(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(spare, mode)
            os.replace(spare, target)
        finally:
            spare.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(
            f"{path} cannot be written: {reason}.", hint="Nothing was changed."
        ) from error


_BINARY: int = getattr(os, "O_BINARY", 0)
_HINT = "Set HERMES_HOME to a folder that you own."


def _root(environ: Mapping[str, str]) -> Path:
    chosen = environ.get("HERMES_HOME", "").strip()
    try:
        if chosen:
            return Path(os.path.abspath(Path(native_path(chosen)).expanduser()))
        from platformdirs import user_data_path

        return Path(os.path.abspath(user_data_path("hermes", appauthor=False)))
    except (RuntimeError, OSError) as error:
        raise UsageError(f"There is no home to keep things in: {error}.", hint=_HINT) from error
