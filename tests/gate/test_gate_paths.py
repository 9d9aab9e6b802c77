"""Paths that file tools may not touch."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hermes_core.gate.paths import ProtectedPaths


@pytest.fixture
def paths(tmp_path: Path) -> ProtectedPaths:
    return ProtectedPaths(
        tmp_path / "ann",
        tmp_path / "hermes" / "profiles" / "work",
        runtime=[str(tmp_path / "venv")],
        ignore_case=False,
    )


@pytest.mark.parametrize(
    "name",
    [
        "ann/.ssh/authorized_keys",
        "ann/.ssh/config",
        "ann/.aws/credentials",
        "ann/.config/gh/hosts.yml",
        "ann/.netrc",
        "ann/.git-credentials",
        "ann/x/../.ssh/new",
        "elsewhere/id_ed25519",
        "hermes/hermes.yaml",
        "hermes/.env",
        "hermes/plugins/x/__init__.py",
        "hermes/memories/MEMORY.md",
        "hermes/state.db",
        "hermes/state.db-wal",
        "hermes/logs/audit.jsonl",
        "hermes/profiles/work/hermes.yaml",
        "hermes/profiles/home/pairing/x",
        "venv/bin/python",
        "venv",
    ],
)
def test_keys_settings_and_the_runtime_are_not_written(
    paths: ProtectedPaths, tmp_path: Path, name: str
) -> None:
    assert paths.write_reason(str(tmp_path / name))


@pytest.mark.skipif(os.name == "nt", reason="names of POSIX systems")
@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/etc/sudoers.d/x", "/boot/x", "/usr/bin/ls", "/dev/sda", "/proc/1/mem"]
)
def test_the_system_is_not_written(paths: ProtectedPaths, path: str) -> None:
    assert paths.write_reason(path) == "it belongs to the operating system"


@pytest.mark.parametrize(
    "name",
    [
        "ann/notes.md",
        "ann/.bashrc.d/x",
        "ann/.sshx",
        "hermes/skills/mine/SKILL.md",
        "hermes/hermes.yaml.example",
        "venv2/x",
        "work/.env.example",
    ],
)
def test_ordinary_files_are_written_and_read(
    paths: ProtectedPaths, tmp_path: Path, name: str
) -> None:
    assert paths.write_reason(str(tmp_path / name)) == ""
    assert paths.read_reason(str(tmp_path / name)) == ""


@pytest.mark.parametrize(
    "name",
    [
        "work/.env",
        "work/.env.local",
        "work/deep/.envrc",
        "ann/.ssh/id_rsa",
        "ann/.ssh",
        "ann/.gnupg/x",
        "hermes/auth.json",
        "hermes/mcp-tokens/x",
        "hermes/profiles/work/.env",
        "usb/id_rsa",
    ],
)
def test_secrets_are_not_read(paths: ProtectedPaths, tmp_path: Path, name: str) -> None:
    assert paths.read_reason(str(tmp_path / name))


def test_settings_and_memories_are_read(paths: ProtectedPaths, tmp_path: Path) -> None:
    assert paths.read_reason(str(tmp_path / "hermes" / "hermes.yaml")) == ""
    assert paths.read_reason(str(tmp_path / "hermes" / "memories" / "MEMORY.md")) == ""


def test_the_home_sign_stands_for_the_home(paths: ProtectedPaths) -> None:
    assert paths.write_reason("~/.ssh/config")
    assert paths.read_reason("~/.ssh/id_rsa")


def test_links_are_followed_at_the_time_of_the_question(
    paths: ProtectedPaths, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "ann" / ".ssh").mkdir(parents=True)
    assert paths.write_reason(str(work / "folder" / "x")) == ""
    (work / "folder").symlink_to(tmp_path / "ann" / ".ssh", target_is_directory=True)
    assert paths.write_reason(str(work / "folder" / "x"))


def test_a_protected_folder_that_is_a_link_protects_its_target(
    paths: ProtectedPaths, tmp_path: Path
) -> None:
    (tmp_path / "ann").mkdir()
    (tmp_path / "keys").mkdir()
    (tmp_path / "ann" / ".ssh").symlink_to(tmp_path / "keys", target_is_directory=True)
    assert paths.write_reason(str(tmp_path / "keys" / "x"))
    assert paths.read_reason(str(tmp_path / "keys" / "x"))


def test_case_does_not_matter_where_the_file_system_ignores_it(tmp_path: Path) -> None:
    paths = ProtectedPaths(tmp_path / "Ann", tmp_path / "hermes", ignore_case=True)
    assert paths.write_reason(str(tmp_path / "ANN" / ".SSH" / "config"))
    assert paths.write_reason(str(tmp_path / "Hermes" / "HERMES.YAML"))
    assert paths.read_reason(str(tmp_path / "work" / ".ENV"))


def test_the_write_root_is_the_only_place_to_write(tmp_path: Path) -> None:
    roots = os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b")])
    paths = ProtectedPaths(tmp_path / "ann", tmp_path / "hermes", write_root=roots)
    assert paths.write_reason(str(tmp_path / "a" / "x")) == ""
    assert paths.write_reason(str(tmp_path / "b")) == ""
    assert "gate.write_root" in paths.write_reason(str(tmp_path / "c" / "x"))


def test_removing_a_folder_around_the_program_counts_as_removing_it(
    paths: ProtectedPaths, tmp_path: Path
) -> None:
    assert paths.own_reason(str(tmp_path), removing=True) == "Hermes itself is in it"
    assert paths.own_reason(str(tmp_path)) == ""
    assert paths.own_reason(str(tmp_path / "work"), removing=True) == ""


def test_a_null_byte_is_no_way_out(paths: ProtectedPaths, tmp_path: Path) -> None:
    assert paths.write_reason(f"{tmp_path}/ann/.ssh/\0config")
