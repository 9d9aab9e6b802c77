"""Where the home is, whether it can be used, and writing whole files."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from hermes_core.paths import check_home, choose_profile, native_path, resolve_paths, write_whole
from hermes_plugins import UsageError

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX's")


@pytest.fixture
def modes_bind(tmp_path: Path) -> None:
    """Root may do everything, whatever the mode; then there is nothing to see."""
    (tmp_path / "closed").mkdir(mode=0)
    if os.access(tmp_path / "closed", os.R_OK):
        pytest.skip("modes do not bind this user")


def test_the_home_is_hermes_home_made_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = resolve_paths({"HERMES_HOME": "here"})
    assert paths.home == tmp_path / "here"
    assert paths.cache == tmp_path / "here" / "cache"
    assert paths.logs == tmp_path / "here" / "logs"


def test_without_hermes_home_it_is_the_platforms_place_for_hermes() -> None:
    from platformdirs import user_data_path

    assert resolve_paths({}).home == user_data_path("hermes", appauthor=False)


def test_a_profile_is_a_home_of_its_own(tmp_path: Path) -> None:
    environ = {"HERMES_HOME": str(tmp_path), "HERMES_PROFILE": "work"}
    assert resolve_paths(environ).home == tmp_path / "profiles" / "work"
    assert resolve_paths(environ, profile="other_1").home == tmp_path / "profiles" / "other_1"
    assert resolve_paths(environ, profile="default").home == tmp_path


def test_the_chosen_profile_counts_where_none_is_named(tmp_path: Path) -> None:
    work = tmp_path / "profiles" / "work"
    work.mkdir(parents=True)
    choose_profile(tmp_path, "work")
    environ = {"HERMES_HOME": str(tmp_path)}
    assert resolve_paths(environ).home == work
    assert resolve_paths(environ, profile="default").home == tmp_path
    named = resolve_paths({**environ, "HERMES_PROFILE": "other"})
    assert named.home == tmp_path / "profiles" / "other"
    choose_profile(tmp_path, "default")
    assert resolve_paths(environ).home == tmp_path


@pytest.mark.parametrize("written", ["gone", "../..", "", "\xff", "a\nb"])
def test_a_chosen_profile_that_is_none_is_refused_or_nothing(tmp_path: Path, written: str) -> None:
    (tmp_path / "default-profile").write_bytes(written.encode("latin-1"))
    environ = {"HERMES_HOME": str(tmp_path)}
    if written in ("", "\xff"):
        assert resolve_paths(environ).home == tmp_path
        return
    with pytest.raises(UsageError):
        resolve_paths(environ)


@pytest.mark.parametrize("name", ["../up", "a/b", "Work", "-x", "x" * 65, ".", "a\n", "ä"])
def test_a_name_that_is_no_profile_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is no profile name"):
        resolve_paths({"HERMES_HOME": str(tmp_path)}, profile=name)
    with pytest.raises(UsageError, match="is no profile name"):
        resolve_paths({"HERMES_HOME": str(tmp_path), "HERMES_PROFILE": name})


def test_git_bash_spellings_become_windows_ones_on_windows_only() -> None:
    assert native_path("/c/Users/me", windows=True) == "C:\\Users\\me"
    assert native_path("/d", windows=True) == "D:\\"
    assert native_path("/cygdrive/x", windows=True) == "/cygdrive/x"
    assert native_path("C:/Users", windows=True) == "C:/Users"
    assert native_path("/c/Users/me", windows=False) == "/c/Users/me"


def test_a_home_that_does_not_exist_yet_is_fine_where_it_can_be_made(tmp_path: Path) -> None:
    assert check_home(resolve_paths({"HERMES_HOME": str(tmp_path / "a" / "b")})) == ""
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("below", ["", "profiles"])
def test_a_file_in_place_of_the_home_is_told_in_one_line(tmp_path: Path, below: str) -> None:
    (tmp_path / "home").write_text("")
    problem = check_home(resolve_paths({"HERMES_HOME": str(tmp_path / "home" / below)}))
    assert problem.startswith(f"{tmp_path / 'home'} is not a folder")
    assert problem.endswith("Set HERMES_HOME to a folder that you own.")
    assert "\n" not in problem


@posix_only
@pytest.mark.usefixtures("modes_bind")
@pytest.mark.parametrize(("mode", "deed"), [(0o500, "written"), (0o300, "read"), (0, "read")])
def test_a_home_without_permission_is_told_in_one_line(
    tmp_path: Path, mode: int, deed: str
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=mode)
    try:
        problem = check_home(resolve_paths({"HERMES_HOME": str(home)}))
    finally:
        home.chmod(0o700)
    assert problem.startswith(f"The home {home} cannot be {deed}.")


@posix_only
@pytest.mark.usefixtures("modes_bind")
def test_a_home_that_cannot_be_made_is_told_in_one_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        problem = check_home(resolve_paths({"HERMES_HOME": str(tmp_path / "home")}))
    finally:
        tmp_path.chmod(0o700)
    assert problem.startswith(f"{tmp_path / 'home'} cannot be made: {tmp_path} is not writable.")


@posix_only
def test_writing_keeps_the_mode_and_makes_new_files_private(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "file"
    write_whole(file, b"one")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o640)
    write_whole(file, b"two")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    write_whole(file, b"three", mode=0o600)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_bytes() == b"three"
    assert list(file.parent.iterdir()) == [file]


@posix_only
def test_writing_goes_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_write_that_fails_names_the_file_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match=r"folder cannot be written: .*Nothing was changed"):
        write_whole(tmp_path / "folder", b"x")
    assert [item.name for item in tmp_path.iterdir() if item.name != "home"] == ["folder"]
