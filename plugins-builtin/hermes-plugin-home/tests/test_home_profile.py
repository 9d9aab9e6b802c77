"""`hermes profile`, as it is called."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from hermes_plugins.testing import Command, HostFactory

posix_only = pytest.mark.skipif(os.name != "posix", reason="limits, signals and modes of POSIX")
KEY = "sk-test-not-a-real-key"


@pytest.fixture
def used(command: Command) -> Path:
    """A home with sessions, secrets and memories."""
    assert command.run("-q", "help").status == 0
    home = command.home
    (home / "hermes.yaml").write_text(f"model: {{api_key: {KEY}}}\nagent: {{max_turns: 7}}\n")
    (home / ".env").write_text(f"MAIL_PASSWORD={KEY}\n")
    (home / "memories").mkdir()
    (home / "memories" / "MEMORY.md").write_text("tea")
    return home


def count(command: Command, *words: str) -> int:
    return len(json.loads(command.run(*words, "sessions", "list", "--json").stdout))


def test_a_new_profile_is_empty_and_used_by_name(command: Command, used: Path) -> None:
    ended = command.run("profile", "create", "work")
    assert ended.status == 0
    assert "hermes -p work" in ended.out
    assert count(command) == 1
    assert count(command, "-p", "work") == 0
    assert command.run("-p", "work", "-q", "help").status == 0
    assert count(command, "-p", "work") == 1
    assert count(command) == 1


@posix_only
def test_only_the_owner_gets_into_a_profile(command: Command, used: Path) -> None:
    for words in (["create", "a"], ["clone", "default", "b"]):
        assert command.run("profile", *words).status == 0
        assert (used / "profiles" / words[-1]).stat().st_mode & 0o077 == 0


def test_the_chosen_one_counts_where_none_is_named(command: Command, used: Path) -> None:
    assert command.run("profile", "create", "work").status == 0
    assert command.run("profile", "create", "play").status == 0
    home = str(used / "profiles" / "work" / "hermes.yaml")
    assert command.run("profile", "use", "work").status == 0
    assert command.run("config", "path").out.strip() == home
    # A profile that is named wins, by the option before the variable.
    environ = {"HERMES_PROFILE": "play"}
    play = str(used / "profiles" / "play" / "hermes.yaml")
    assert command.run("config", "path", environ=environ).out.strip() == play
    assert command.run("-p", "work", "config", "path", environ=environ).out.strip() == home
    assert command.run("-p", "default", "config", "path").out.strip() == str(used / "hermes.yaml")
    assert command.run("profile", "use", "default").status == 0
    assert command.run("config", "path").out.strip() == str(used / "hermes.yaml")


def test_a_chosen_one_that_is_gone_is_told_with_the_way_back(command: Command, used: Path) -> None:
    assert command.run("profile", "create", "work").status == 0
    assert command.run("profile", "use", "work").status == 0
    (used / "profiles" / "work").rmdir()
    ended = command.run("-q", "help")
    assert ended.status == 2
    assert ended.err == (
        "hermes: the profile 'work' that `hermes profile use` chose is gone.\n"
        "        `hermes -p default profile use default` goes back to the home itself.\n"
    )
    assert command.run("-p", "default", "profile", "use", "default").status == 0
    assert command.run("config", "path").out.strip() == str(used / "hermes.yaml")


def test_they_are_listed_with_what_is_in_use(command: Command, used: Path) -> None:
    assert command.run("profile", "create", "work").status == 0
    assert command.run("profile", "use", "work").status == 0
    lines = command.run("profile", "list").out.splitlines()
    assert lines[0].startswith("  default  2")
    assert lines[1].split() == ["*", "work", "never", "used", str(used / "profiles" / "work")]
    rows = json.loads(command.run("-p", "default", "profile", "list", "--json").stdout)
    assert [(row["name"], row["in_use"], row["chosen"]) for row in rows] == [
        ("default", True, False),
        ("work", False, True),
    ]


@pytest.mark.parametrize("secrets", [False, True])
@pytest.mark.parametrize("sessions", [False, True])
def test_a_clone_has_what_was_asked_for(
    command: Command, used: Path, secrets: bool, sessions: bool
) -> None:
    more = [*(["--secrets"] if secrets else []), *(["--sessions"] if sessions else [])]
    ended = command.run("profile", "clone", "default", "trial", *more)
    assert ended.status == 0, ended.err
    trial = used / "profiles" / "trial"
    assert (trial / "memories" / "MEMORY.md").read_text() == "tea"
    assert (trial / ".env").exists() == secrets
    assert (KEY in (trial / "hermes.yaml").read_text()) == secrets
    assert ("Not in it: .env" in ended.out) == (not secrets)
    assert count(command, "-p", "trial") == (1 if sessions else 0)
    assert command.run("-p", "trial", "config", "get", "agent.max_turns").out == "7\n"
    assert not (trial / "profiles").exists()
    assert not (trial / "cache" / "found.json").is_symlink()


def test_a_clone_of_a_profile_is_of_that_one(command: Command, used: Path) -> None:
    assert command.run("profile", "create", "work").status == 0
    assert command.run("-p", "work", "config", "set", "agent.max_turns", "5").status == 0
    assert command.run("-p", "work", "-q", "help").status == 0
    assert command.run("-p", "work", "-q", "help").status == 0
    assert command.run("profile", "clone", "work", "trial", "--sessions").status == 0
    assert command.run("-p", "trial", "config", "get", "agent.max_turns").out == "5\n"
    assert count(command, "-p", "trial") == 2


@pytest.mark.parametrize("name", ["Work", "../up", "a/b", "", "default", "x" * 65, "a b"])
def test_a_name_that_is_none_is_refused(command: Command, used: Path, name: str) -> None:
    for words in (["create", name], ["clone", "default", name]):
        ended = command.run("profile", *words)
        assert ended.status == 2
        assert "is no name for a profile" in ended.err
    assert not (used / "profiles").exists()


def test_what_is_there_is_not_made_again_and_what_is_not_there_is_told(
    command: Command, used: Path
) -> None:
    assert command.run("profile", "create", "work").status == 0
    for words in (["create", "work"], ["clone", "default", "work"]):
        ended = command.run("profile", *words)
        assert (ended.status, "is there already" in ended.err) == (2, True)
    for words in (["use", "wrk"], ["delete", "wrk"], ["clone", "wrk", "x"]):
        ended = command.run("profile", *words)
        assert ended.status == 2
        assert "there is no profile 'wrk'." in ended.err
        assert "`hermes profile list`" in ended.err


@pytest.mark.parametrize(("said", "is_gone"), [(b"y\n", True), (b"n\n", False), (b"", False)])
def test_deleting_asks(command: Command, used: Path, said: bytes, is_gone: bool) -> None:
    assert command.run("profile", "clone", "default", "work").status == 0
    ended = command.run("profile", "delete", "work", input=said)
    assert "The profile work: 2 files," in ended.out
    assert (ended.status == 0) == is_gone
    assert (used / "profiles" / "work").exists() != is_gone
    if is_gone:
        assert list((used / "profiles").iterdir()) == []


def test_the_home_itself_and_the_chosen_one_are_not_deleted(command: Command, used: Path) -> None:
    assert command.run("profile", "create", "work").status == 0
    assert command.run("profile", "use", "work").status == 0
    ended = command.run("profile", "delete", "work", "--yes")
    assert (ended.status, "`hermes profile use default` first." in ended.err) == (2, True)
    ended = command.run("profile", "delete", "default", "--yes")
    assert (ended.status, "hermes uninstall-data" in ended.err) == (2, True)
    assert (used / "profiles" / "work").is_dir()
    assert (used / "state.db").exists()


async def test_one_that_is_in_use_is_not_deleted(
    hermes: HostFactory,
    command: Command,
    used: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert command.run("profile", "create", "work").status == 0
    monkeypatch.setenv("HERMES_PROFILE", "work")
    async with hermes() as host:
        await host.ask("help")
        ended = command.run("-p", "default", "profile", "delete", "work", "--yes")
        assert ended.status == 2
        assert "is open in cli (pid" in ended.err
    assert command.run("-p", "default", "profile", "delete", "work", "--yes").status == 0


@posix_only
def test_a_full_disk_leaves_no_half_profile(command: Command, used: Path) -> None:
    (used / "memories" / "large").write_bytes(os.urandom(2_000_000))

    def limit() -> None:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

    ended = command.run("profile", "clone", "default", "trial", before=limit)
    assert ended.status == 1
    assert "the profile trial cannot be made: File too large." in ended.err
    assert list((used / "profiles").iterdir()) == []


@posix_only
def test_a_clone_that_was_killed_is_no_profile(command: Command, used: Path) -> None:
    for number in range(6):
        (used / "memories" / f"large{number}").write_bytes(os.urandom(20_000_000))
    process = command.start("profile", "clone", "default", "trial")
    while not list(used.glob("profiles/.making-*/memories/large0")):
        assert process.poll() is None, process.communicate()
    process.kill()
    process.communicate()
    assert not (used / "profiles" / "trial").exists()
    out = command.run("profile", "list").out
    assert "trial " not in out
    assert "Left over from a command that was cut off, may be removed: " in out
    for number in range(6):
        (used / "memories" / f"large{number}").unlink()
    assert command.run("profile", "clone", "default", "trial").status == 0


def test_of_two_clones_at_once_one_wins(command: Command, used: Path) -> None:
    both = [command.start("profile", "clone", "default", "trial") for _ in range(2)]
    told = [process.communicate() for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], told
    assert sorted(path.name for path in (used / "profiles").iterdir()) == ["trial"]
    assert (used / "profiles" / "trial" / "memories" / "MEMORY.md").exists()
