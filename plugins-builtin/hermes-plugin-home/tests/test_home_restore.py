"""`hermes restore`, as it is called: what comes back, what is refused, and what a kill leaves."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from hermes_plugin_home import swap

from hermes_plugins.testing import Command, HostFactory

posix_only = pytest.mark.skipif(os.name != "posix", reason="limits, signals and modes of POSIX")


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a home that was backed up with its secrets and changed since, and the file."""
    place = tmp_path_factory.mktemp("made")
    home = place / "home"
    command = Command(home, place)

    def run(*words: str) -> None:
        ended = command.run(*words, environ={"HERMES_HOME": str(home)})
        assert ended.status == 0, ended.err

    run("-q", "help")
    (home / "hermes.yaml").write_text("agent: {max_turns: 7}\n", "utf-8")
    (home / ".env").write_text("MAIL_PASSWORD=sk-test-not-a-real-key\n", "utf-8")
    (home / "memories").mkdir()
    (home / "memories" / "MEMORY.md").write_text("before", "utf-8")
    (home / "skills").mkdir()
    (home / "skills" / "run.sh").write_text("echo hi\n", "utf-8")
    (home / "skills" / "run.sh").chmod(0o755)
    run("backup", str(place / "b.zip"), "--secrets")
    (home / "memories" / "MEMORY.md").write_text("after", "utf-8")
    (home / "memories" / "new.md").write_text("new", "utf-8")
    (home / "hermes.yaml").write_text("agent: {max_turns: 9}\n", "utf-8")
    run("-q", "help")
    return place


@pytest.fixture
def backed_up(made_once: Path, command: Command) -> Path:
    """The same as this test's own."""
    shutil.copytree(made_once / "home", command.home)
    return Path(shutil.copy(made_once / "b.zip", command.folder))


def sessions(command: Command) -> int:
    return len(json.loads(command.run("sessions", "list", "--json").stdout))


def memory(home: Path) -> str:
    return (home / "memories" / "MEMORY.md").read_text("utf-8")


def contents(home: Path) -> dict[str, bytes]:
    """What is worth something, without what a look at it makes."""
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file()
        and not str(path.relative_to(home)).startswith(
            ("cache", "logs", "gateway.lock", "state.db-")
        )
    }


def test_it_brings_back_what_was_and_keeps_what_is_replaced(
    command: Command, backed_up: Path
) -> None:
    home = command.home
    assert sessions(command) == 2
    ended = command.run("restore", str(backed_up), "--yes")
    assert (ended.status, ended.err) == (0, "")
    assert memory(home) == "before"
    assert not (home / "memories" / "new.md").exists()
    assert command.run("config", "get", "agent.max_turns").out == "7\n"
    assert sessions(command) == 1
    (aside,) = home.glob("before-restore-*")
    assert str(aside) in ended.out
    assert memory(aside) == "after"
    assert (aside / "memories" / "new.md").exists()
    assert (aside / "state.db").exists()


@posix_only
def test_files_are_the_owners_alone_and_programs_may_run(command: Command, backed_up: Path) -> None:
    assert command.run("restore", str(backed_up), "--yes").status == 0
    home = command.home
    assert stat.S_IMODE((home / ".env").stat().st_mode) == 0o600
    assert stat.S_IMODE((home / "state.db").stat().st_mode) == 0o600
    assert stat.S_IMODE((home / "skills" / "run.sh").stat().st_mode) == 0o700


def test_it_goes_into_an_empty_home_without_asking(
    command: Command, backed_up: Path, tmp_path: Path
) -> None:
    environ = {"HERMES_HOME": str(tmp_path / "elsewhere")}
    ended = command.run("restore", str(backed_up), environ=environ)
    assert ended.status == 0
    assert "adds     memories: 6 bytes" in ended.out
    assert memory(tmp_path / "elsewhere") == "before"
    assert not list((tmp_path / "elsewhere").glob("before-restore-*"))


@pytest.mark.parametrize(("said", "status"), [(b"y\n", 0), (b"n\n", 2), (b"\n", 2), (b"", 2)])
def test_it_shows_what_would_change_and_asks(
    command: Command, backed_up: Path, said: bytes, status: int
) -> None:
    before = contents(command.home)
    ended = command.run("restore", str(backed_up), input=said)
    assert ended.status == status
    assert "replaces memories: 6 bytes in the place of 8 bytes" in ended.out
    assert (contents(command.home) == before) == (status != 0)


def test_a_dry_run_only_shows(command: Command, backed_up: Path) -> None:
    before = contents(command.home)
    ended = command.run("restore", str(backed_up), "--dry-run")
    assert ended.status == 0
    assert "replaces state.db" in ended.out
    assert contents(command.home) == before


def test_what_is_not_in_the_backup_stays(command: Command, backed_up: Path) -> None:
    quick = command.folder / "quick.zip"
    assert command.run("backup", str(quick), "--quick").status == 0
    ended = command.run("restore", str(quick), "--yes")
    assert ended.status == 0
    assert sessions(command) == 2
    assert (command.home / ".env").exists()
    assert "Keys are not in this backup" in ended.out


def test_a_plugin_that_is_not_here_is_named(command: Command, backed_up: Path) -> None:
    other = changed(
        backed_up, manifest=lambda one: one["plugins"].update({"hermes-plugin-moon": "1"})
    )
    ended = command.run("restore", str(other), "--yes")
    assert "not here: hermes-plugin-moon." in ended.out
    assert "hermes plugins install hermes-plugin-moon" in ended.out


async def test_it_is_refused_while_a_session_is_open(
    hermes: HostFactory, command: Command, backed_up: Path
) -> None:
    before = memory(command.home)
    async with hermes() as host:
        await host.ask("help")
        ended = command.run("restore", str(backed_up), "--yes")
    assert ended.status == 2
    assert "is open in cli (pid" in ended.err
    assert "Leave it first." in ended.err
    assert memory(command.home) == before
    assert command.run("restore", str(backed_up), "--yes").status == 0


# -- files that are no backups ---------------------------------------------------------


def changed(
    file: Path,
    *,
    manifest: Callable[[dict[str, object]], object] = lambda one: None,
    entries: dict[str, bytes] | None = None,
    listed: bool = True,
    mode: int = 0o600,
) -> Path:
    """The backup with another manifest and more entries, which are listed in it or not."""
    other = file.with_name("other.zip")
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(other, "w", zipfile.ZIP_DEFLATED) as new:
        head = json.loads(old.read("hermes-backup.json"))
        for info in old.infolist():
            if info.filename != "hermes-backup.json":
                new.writestr(info, old.read(info))
        for name, data in (entries or {}).items():
            added = zipfile.ZipInfo(name)
            added.external_attr = mode << 16
            added.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(added, data)
            if listed:
                size, digest = len(data), sha256(data).hexdigest()
                head["files"][name.removeprefix("home/")] = {"size": size, "sha256": digest}
        manifest(head)
        new.writestr("hermes-backup.json", json.dumps(head))
    return other


def refused(command: Command, file: Path, told: str) -> None:
    """It is told in two lines, and nothing was touched."""
    before = contents(command.home)
    around = {path.name for path in command.home.parent.iterdir()}
    ended = command.run("restore", str(file), "--yes")
    assert ended.status in (1, 2), ended.out
    assert told in ended.err
    assert len(ended.err.splitlines()) <= 2
    assert contents(command.home) == before
    assert {path.name for path in command.home.parent.iterdir()} == around


@pytest.mark.parametrize(
    "name",
    [
        "home/../evil",
        "home/memories/../../evil",
        "/evil",
        "home//evil",
        "home/./evil",
        "evil",
        "home/..\\evil",
        "home/C:evil",
        "home/new\nline",
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(
    command: Command, backed_up: Path, name: str
) -> None:
    refused(command, changed(backed_up, entries={name: b"x"}), "would lead out of the home")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_devices_are_refused(command: Command, backed_up: Path, kind: int) -> None:
    other = changed(backed_up, entries={"home/memories/l": b"/etc/passwd"}, mode=kind | 0o777)
    refused(command, other, "is a link or a device")


@pytest.mark.parametrize("name", ["profiles/x/hermes.yaml", "cache/found.json", "gateway.lock"])
def test_what_no_backup_holds_is_refused(command: Command, backed_up: Path, name: str) -> None:
    refused(command, changed(backed_up, entries={f"home/{name}": b"x"}), "which no backup has")


def test_more_or_other_files_than_the_manifest_says_are_refused(
    command: Command, backed_up: Path
) -> None:
    told = "does not hold what its manifest says"
    refused(command, changed(backed_up, entries={"home/extra": b"x"}, listed=False), told)
    refused(command, changed(backed_up, manifest=lambda one: one["files"].pop("hermes.yaml")), told)
    twice = {"home/Memories": b"1", "home/MEMORIES": b"2"}
    refused(command, changed(backed_up, entries=twice), told)
    grow = changed(backed_up, manifest=lambda one: one["files"]["hermes.yaml"].update(size=1))
    refused(command, grow, told)


def test_other_content_than_the_manifest_says_is_refused(command: Command, backed_up: Path) -> None:
    other = changed(
        backed_up, manifest=lambda one: one["files"]["hermes.yaml"].update(sha256="0" * 64)
    )
    refused(command, other, "hermes.yaml is not what was packed")


def test_what_would_burst_the_disk_is_refused(command: Command, backed_up: Path) -> None:
    other = changed(backed_up, entries={"home/memories/bomb": bytes(150_000_000)})
    refused(command, other, "that is a trap")


def test_what_says_less_than_it_is_is_refused(command: Command, backed_up: Path) -> None:
    """The sizes in the head of a zip are only words."""
    other = changed(backed_up, entries={"home/memories/bomb": b"A" * 5_000_000})
    data = other.read_bytes()
    real, said = (5_000_000).to_bytes(4, "little"), (1000).to_bytes(4, "little")
    assert data.count(real) >= 2
    other.write_bytes(data.replace(real, said))
    with zipfile.ZipFile(other) as found:
        head = json.loads(found.read("hermes-backup.json"))
        assert found.getinfo("home/memories/bomb").file_size == 1000
    head["files"]["memories/bomb"]["size"] = 1000
    again = backed_up.with_name("again.zip")
    rewritten(other, again, json.dumps(head).encode())
    refused(command, again, "damaged")


def rewritten(file: Path, target: Path, manifest: bytes) -> None:
    """The same bytes with another manifest, appended as zip files may be."""
    target.write_bytes(file.read_bytes())
    with zipfile.ZipFile(target, "a") as found:
        index = next(
            at for at, one in enumerate(found.filelist) if one.filename == "hermes-backup.json"
        )
        del found.filelist[index]
        del found.NameToInfo["hermes-backup.json"]
        found.writestr("hermes-backup.json", manifest)


def test_a_newer_format_and_another_zip_are_told_apart(command: Command, backed_up: Path) -> None:
    newer = changed(backed_up, manifest=lambda one: one.update(v=2))
    refused(command, newer, "was made by a newer Hermes")
    other = backed_up.with_name("photos.zip")
    with zipfile.ZipFile(other, "w") as made:
        made.writestr("cat.jpg", b"meow")
    refused(command, other, "is no backup of Hermes")


@pytest.mark.parametrize("size", [0, 1, 100, -200, -1])
def test_a_file_that_was_cut_is_refused(command: Command, backed_up: Path, size: int) -> None:
    other = backed_up.with_name("cut.zip")
    other.write_bytes(backed_up.read_bytes()[:size])
    refused(command, other, "cut.zip is no backup, or a damaged one")


def test_a_file_with_a_wrong_bit_is_refused(command: Command, backed_up: Path) -> None:
    data = bytearray(backed_up.read_bytes())
    data[200] ^= 1
    other = backed_up.with_name("bit.zip")
    other.write_bytes(data)
    ended = command.run("restore", str(other), "--yes")
    assert ended.status == 2
    assert memory(command.home) == "after"


def test_a_missing_file_is_told(command: Command, backed_up: Path) -> None:
    refused(command, backed_up.with_name("none.zip"), "none.zip cannot be read")
    ended = command.run("restore")
    assert (ended.status, ended.err) == (
        2,
        "hermes: which backup?\n        hermes restore FILE\n",
    )


# -- cut off, full, at once ------------------------------------------------------------


@posix_only
def test_a_full_disk_changes_nothing(command: Command, backed_up: Path) -> None:
    def limit() -> None:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    before = contents(command.home)
    ended = command.run("restore", str(backed_up), "--yes", before=limit)
    assert ended.status == 1
    assert "cannot be unpacked" in ended.err
    assert "Nothing was changed." in ended.err
    assert contents(command.home) == before


@pytest.mark.parametrize("at", range(9))
def test_one_that_was_cut_off_between_two_renames_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    home = tmp_path / "home"
    new = {"a": "new a", "b": "new b", "state.db": "new state"}
    old = {"a": "old a", "state.db": "old state", "state.db-wal": "old log", "other": "stays"}
    staged = home / ".restore-x"
    (staged / "new").mkdir(parents=True)
    for folder, files in ((home, old), (staged / "new", new)):
        for name, text in files.items():
            (folder / name).write_text(text, "utf-8")
    rename, left = os.rename, at

    class Killed(BaseException):
        pass

    def renamed(source: object, target: object) -> None:
        nonlocal left
        if left == 0:
            raise Killed
        left -= 1
        rename(source, target)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "rename", renamed)
    try:
        swap.commit(staged, home, aside="before-restore-1")
    except Killed:
        pass
    monkeypatch.setattr(os, "rename", rename)
    was_committed = swap.is_pending(home)
    assert was_committed == (0 < at < 7)
    if was_committed:
        swap.finish(home)
    found = {path.name: path.read_text("utf-8") for path in home.iterdir() if path.is_file()}
    if at == 0:
        assert found == old
        return
    assert found == {**new, "other": "stays"}
    aside = home / "before-restore-1"
    kept = {path.name: path.read_text("utf-8") for path in aside.iterdir()}
    assert kept == {name: text for name, text in old.items() if name != "other"}
    assert not swap.is_pending(home)


def test_the_command_finishes_what_was_cut_off(command: Command, backed_up: Path) -> None:
    ready = command.home / ".restore"
    (ready / "new" / "memories").mkdir(parents=True)
    (ready / "new" / "memories" / "MEMORY.md").write_text("from the backup", "utf-8")
    (ready / "aside").write_text("before-restore-1", "utf-8")
    ended = command.run("restore")
    assert ended.out == "A restore that was cut off is finished now: memories.\n"
    assert memory(command.home) == "from the backup"
    assert memory(command.home / "before-restore-1") == "after"


@posix_only
@pytest.mark.slow
def test_it_is_the_old_home_or_the_new_one_whenever_it_is_killed(
    command: Command, backed_up: Path
) -> None:
    (command.home / "memories" / "large").write_bytes(os.urandom(5_000_000))
    assert command.run("backup", "large.zip").status == 0
    (command.home / "memories" / "MEMORY.md").write_text("changed", "utf-8")
    outcomes = set()
    for number in range(60):
        process = command.start("restore", "large.zip", "--yes")
        try:
            process.wait(0.15 + number * 0.02)
        except Exception:
            process.kill()
        process.communicate()
        if swap.is_pending(command.home):
            assert command.run("restore").status == 0
        outcomes.add(memory(command.home))
        assert command.run("sessions", "list").status == 0
    assert outcomes <= {"changed", "after"}
    assert command.run("restore", "large.zip", "--yes").status == 0
    assert not list(command.home.glob(".restore*"))


def test_of_two_at_once_the_home_is_whole(command: Command, backed_up: Path) -> None:
    both = [command.start("restore", str(backed_up), "--yes") for _ in range(2)]
    told = [process.communicate() for process in both]
    assert min(process.returncode for process in both) == 0, told
    assert memory(command.home) == "before"
    assert not list(command.home.glob(".restore*"))
    assert sessions(command) == 1
