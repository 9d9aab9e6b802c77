"""The local environment keeps every promise of the contract, and those of its own about files."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from hermes_plugin_terminal.local import LocalEnvironment

from hermes_core.clock import SystemClock
from hermes_plugins import Environment, ToolError
from hermes_plugins.testing import EnvironmentConformance, FakeHost


def local(tmp_path: Path) -> LocalEnvironment:
    folder = tmp_path / "work"
    folder.mkdir()
    return LocalEnvironment(FakeHost(tmp_path / "home", clock=SystemClock()), str(folder))


class TestLocalEnvironment(EnvironmentConformance):
    def make(self, tmp_path: Path) -> Environment:
        return local(tmp_path)


@pytest.fixture
def environment(tmp_path: Path) -> LocalEnvironment:
    return local(tmp_path)


async def test_a_full_disk_leaves_the_old_file_whole_and_no_other(
    environment: LocalEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(environment.workspace)
    (folder / "kept").write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ToolError, match="kept: the disk is full") as raised:
        await environment.write("kept", b"new" * 1000)
    assert ".tmp" not in str(raised.value)
    assert os.listdir(folder) == ["kept"]
    assert (folder / "kept").read_bytes() == b"old"


async def test_a_file_that_changes_while_the_new_one_is_written_is_left_alone(
    environment: LocalEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(environment.workspace)
    (folder / "file").write_bytes(b"old")
    seen = await environment.stat("file")
    flush = os.fsync

    def interfering(descriptor: int) -> None:
        flush(descriptor)
        (folder / "file").write_bytes(b"someone else's")

    monkeypatch.setattr(os, "fsync", interfering)
    with pytest.raises(ToolError, match="it changed"):
        await environment.write("file", b"mine", expected=seen)
    assert os.listdir(folder) == ["file"]
    assert (folder / "file").read_bytes() == b"someone else's"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everything")
async def test_a_write_protected_file_is_not_replaced(environment: LocalEnvironment) -> None:
    file = Path(environment.workspace, "file")
    file.write_bytes(b"old")
    file.chmod(0o444)
    with pytest.raises(ToolError, match="file: it is write-protected"):
        await environment.write("file", b"new")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
async def test_a_file_of_someone_else_stays_theirs(environment: LocalEnvironment) -> None:
    file = Path(environment.workspace, "file")
    file.write_bytes(b"old")
    os.chown(file, 1234, 1235)
    file.chmod(0o4750)
    await environment.write("file", b"new")
    found = file.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 1235, 0o4750)


@pytest.mark.skipif(os.name != "posix", reason="POSIX modes")
async def test_a_new_file_gets_the_umasks_mode(environment: LocalEnvironment) -> None:
    before = os.umask(0o027)
    try:
        written = await environment.write("new/file", b"x")
    finally:
        os.umask(before)
    assert written.mode == 0o640
    assert (await environment.stat("new")).mode == 0o750


async def test_large_files_and_folders_are_the_same_as_small_ones(
    environment: LocalEnvironment,
) -> None:
    data = os.urandom(3_000_000)
    await environment.write("large", data)
    assert await environment.read("large") == data
    folder = Path(environment.workspace, "many")
    folder.mkdir()
    names = [f"{number:0>60}" for number in range(3000)]
    for name in names:
        (folder / name).touch()
    assert await environment.list("many") == names


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="Linux")
async def test_a_file_that_says_it_is_empty_is_read_to_its_end(
    environment: LocalEnvironment,
) -> None:
    assert b"Name:" in await environment.read("/proc/self/status")
    with pytest.raises(ToolError, match=r"at most 10"):
        await environment.read("/proc/self/status", limit=10)


async def test_a_name_that_is_not_unicode_is_listed_and_read(environment: LocalEnvironment) -> None:
    name = os.fsencode(environment.workspace) + b"/caf\xe9"
    try:
        with open(name, "wb") as file:
            file.write(b"x")
    except OSError:
        pytest.skip("the file system takes Unicode names only")
    (listed,) = await environment.list(".")
    assert await environment.read(listed) == b"x"
    with pytest.raises(ToolError, match="not a valid file name"):
        environment.resolve("\ud800")
