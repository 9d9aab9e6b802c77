"""`hermes uninstall-data`, as it is called."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

import pytest

from hermes_plugins.testing import Command, HostFactory


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a profile."""
    place = tmp_path_factory.mktemp("made")
    home = place / "home"
    for words in (
        ["-q", "help"],
        ["config", "set", "OPENROUTER_API_KEY", "sk-test-not-a-real-key"],
        ["profile", "create", "work"],
        ["-p", "work", "-q", "help"],
    ):
        ended = Command(home, place).run(*words, environ={"HERMES_HOME": str(home)})
        assert ended.status == 0, ended.err
    return home


@pytest.fixture
def used(made_once: Path, command: Command) -> Path:
    """The same as this test's own."""
    return Path(shutil.copytree(made_once, command.home))


def test_it_shows_every_name_with_its_size_and_a_dry_run_is_all(
    command: Command, used: Path
) -> None:
    ended = command.run("uninstall-data", "--dry-run")
    assert ended.status == 0
    first, *rows = ended.out.splitlines()
    assert first.startswith(f"In {used}, ")
    assert {row.split()[0] for row in rows if row.startswith("  ")} == {
        path.name for path in used.iterdir()
    }
    assert "With the profiles work." in rows
    assert (used / "state.db").exists()


def test_the_word_deletes_everything_and_leaves_nothing(command: Command, used: Path) -> None:
    ended = command.run("uninstall-data", input=b"n\ndelete\n")
    assert (ended.status, ended.err) == (0, "")
    assert f"Deleted {used}." in ended.out
    assert "pip uninstall hermes-host" in ended.out
    assert not used.exists()


@pytest.mark.parametrize("said", [b"n\nyes\n", b"n\n\n", b"n\n", b"", b"n\nDELETE\n"])
def test_any_other_word_deletes_nothing(command: Command, used: Path, said: bytes) -> None:
    ended = command.run("uninstall-data", input=said)
    assert ended.status == 2
    assert "nothing was d" in ended.err
    assert (used / "state.db").exists()


def test_a_backup_is_offered_with_every_profile_in_it(command: Command, used: Path) -> None:
    ended = command.run("uninstall-data", input=b"y\ndelete\n")
    assert ended.status == 0, ended.err
    made = sorted(command.folder.glob("hermes-backup-*.zip"))
    assert len(made) == 2
    held = [set(zipfile.ZipFile(file).namelist()) for file in made]
    assert all("home/state.db" in names for names in held)
    assert sum("home/.env" in names for names in held) == 1
    assert not used.exists()


def test_a_named_backup_is_made_and_one_inside_the_home_refused(
    command: Command, used: Path
) -> None:
    inside = str(used / "last.zip")
    ended = command.run("uninstall-data", "--yes", "--backup", inside)
    assert (ended.status, "would be deleted too" in ended.err) == (2, True)
    assert command.run("uninstall-data", "--yes", "--backup", "last.zip").status == 0
    assert sorted(path.name for path in command.folder.iterdir()) == ["last-work.zip", "last.zip"]
    assert not used.exists()
    assert command.run("restore", "last.zip").status == 0
    assert "help" in command.run("sessions", "list").out


def test_what_is_not_known_stays_unless_everything_is_to_go(command: Command, used: Path) -> None:
    (used / "thesis.txt").write_text("mine", "utf-8")
    ended = command.run("uninstall-data", "--yes")
    assert ended.status == 0
    assert "Not known to be of Hermes, and stays: thesis.txt" in ended.out
    assert [path.name for path in used.iterdir()] == ["thesis.txt"]
    assert command.run("config", "set", "agent.max_turns", "5").status == 0
    assert command.run("uninstall-data", "--yes", "--everything").status == 0
    assert not used.exists()


def test_a_folder_that_is_not_hermess_alone_is_refused(command: Command, tmp_path: Path) -> None:
    person = tmp_path / "person"
    (person / "documents").mkdir(parents=True)
    (person / "hermes.yaml").write_text("", "utf-8")
    for place in (person, tmp_path, Path("/")):
        environ = {"HOME": str(person), "USERPROFILE": str(person)}
        if place == Path("/"):
            if os.access("/", os.W_OK):
                continue  # looking at it would leave a cache there
            environ["HERMES_PROFILE"] = ""
        ended = command.run(
            "uninstall-data", "--yes", environ={**environ, "HERMES_HOME": str(place)}
        )
        assert ended.status == 2
        assert "holds more than Hermes's files" in ended.err
    assert (person / "documents").is_dir()
    assert (person / "hermes.yaml").exists()


def test_a_folder_that_never_was_a_home_is_refused(command: Command, tmp_path: Path) -> None:
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "thesis.txt").write_text("mine", "utf-8")
    for more in ([], ["--everything"]):
        ended = command.run("uninstall-data", "--yes", *more, environ={"HERMES_HOME": str(strange)})
        assert (ended.status, "is no home of Hermes" in ended.err) == (2, True)
    assert (strange / "thesis.txt").exists()


async def test_it_is_refused_while_a_session_is_open_in_any_profile(
    hermes: HostFactory, command: Command, used: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_PROFILE", "work")
    async with hermes() as host:
        await host.ask("help")
        ended = command.run("-p", "default", "uninstall-data", "--yes")
    assert ended.status == 2
    assert "is open in cli (pid" in ended.err
    assert (used / "state.db").exists()


def test_one_profile_is_not_meant(command: Command, used: Path) -> None:
    ended = command.run("-p", "work", "uninstall-data", "--yes")
    assert ended.status == 2
    assert "`hermes profile delete work` deletes that one." in ended.err


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_a_link_goes_and_what_it_leads_to_stays(
    command: Command, used: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "skills-elsewhere"
    elsewhere.mkdir()
    (elsewhere / "SKILL.md").write_text("mine", "utf-8")
    (used / "skills").symlink_to(elsewhere)
    assert command.run("uninstall-data", "--yes").status == 0
    assert not used.exists()
    assert (elsewhere / "SKILL.md").exists()
