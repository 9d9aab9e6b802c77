"""``hermes sessions repair``: what users run is what is checked, and nothing readable is given up."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from hermes_core.store import salvage
from hermes_plugins import user_message
from hermes_plugins.testing._command import Command

PAGE = 4096


def change(home: Path, *statements: str) -> None:
    with closing(sqlite3.connect(home / "state.db")) as database, database:
        for statement in statements:
            database.execute(statement)


def spoil(path: Path, text: str) -> None:
    """Overwrite the page that holds this text."""
    data = bytearray(path.read_bytes())
    page = data.index(text.encode()) // PAGE * PAGE
    data[page : page + PAGE] = random.Random(5).randbytes(PAGE)
    path.write_bytes(data)


def listed(say) -> set[str]:
    return {one["id"] for one in msgspec.json.decode(say("list", "--json", "-n", "9999").out)}


def copies(home: Path, word: str) -> list[Path]:
    return sorted(home.glob(f"state.db.{word}-*"))


# -- a sound file in which something does not fit ----------------------------------------

WRONG: dict[str, tuple[tuple[str, ...], str]] = {
    "no index": (
        ("INSERT INTO message_index (message_index) VALUES ('delete-all')",),
        "4 messages that search does not find",
    ),
    "part of the index": (
        ("DELETE FROM message_index_data WHERE id > 1000",),
        "The search index is damaged: database disk image is malformed",
    ),
    "a body": (("UPDATE messages SET body = '{' WHERE id = 2",), "1 row that cannot be read"),
    "bytes": (
        ("UPDATE messages SET body = CAST(x'ff' || body AS TEXT) WHERE id = 2",),
        "1 row that cannot be read",
    ),
    "a role": (
        ("UPDATE messages SET role = CAST(x'ff' AS TEXT) WHERE id = 2",),
        "1 row that cannot be read",
    ),
    "a title": (
        ("UPDATE sessions SET title = CAST(x'41ff' AS TEXT) WHERE id = 'a'",),
        "1 session with a name or a time that cannot be read",
    ),
    "a time": (
        ("UPDATE sessions SET updated = 1e300 WHERE id = 'a'",),
        "1 session with a name or a time that cannot be read",
    ),
    "strays": (
        ("INSERT INTO drafts VALUES (99, 1, 'x', '')", "DELETE FROM sessions WHERE id = 'a'"),
        "6 rows of no session",
    ),
    "texts": (("DELETE FROM texts",), "2 sessions without a system prompt or tools"),
    "an unused text": (
        ("INSERT INTO texts (digest, body) VALUES (x'01', x'02')",),
        "1 prompt or tool list that no session uses",
    ),
    "a lease": (
        ("UPDATE sessions SET holder = 'cli', pid = 4, host = 'gone', lease_until = 5",),
        "2 leases of processes that are gone",
    ),
    "a lock": (
        ("INSERT INTO record_leases VALUES ('cron', 'tick', 'x', 5)",),
        "1 lease of processes that are gone",
    ),
    "a record": (
        ("INSERT INTO records VALUES ('todo', 'x', '{', 1)",),
        "1 row that cannot be read",
    ),
    "what came in": (
        (
            "INSERT INTO inbound (platform, id, conversation, time, body) VALUES ('i', '1', 'c', 1, '')",
        ),
        "1 row that cannot be read",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_told_and_then_mended(
    say, fill, hermes_home: Path, check_sound, case: str
) -> None:
    statements, text = WRONG[case]
    fill("a", "b")
    change(hermes_home, *statements)
    dry = say("repair", "--dry-run")
    assert dry.status == 1
    assert f"Wrong: {text}" in dry.lines
    assert dry.err == "Nothing was changed. `hermes sessions repair` mends it.\n"
    assert say("repair", "--dry-run").out == dry.out
    assert not list(hermes_home.glob("state.db.*"))
    mended = say("repair")
    assert mended.status == 0
    assert mended.lines[-1] == "Mended."
    assert say("repair").out == "All is well.\n"
    check = msgspec.json.decode(say("repair", "--json").out)
    assert check == {"v": 1, "dry_run": False, "wrong": [], "done": []}
    assert "all of b" in say("search", "all").out
    assert say("list").status == 0
    assert say("show", "b").out.count("\n") > 5


def test_a_copy_is_made_before_anything_is_taken_out(say, fill, hermes_home: Path) -> None:
    fill("a")
    change(hermes_home, "UPDATE messages SET body = 'precious' WHERE id = 2")
    mended = say("repair")
    (copy,) = copies(hermes_home, "before-repair")
    assert f"A copy of the file as it was is kept as {copy}." in mended.lines
    assert b"precious" not in (hermes_home / "state.db").read_bytes()
    with closing(sqlite3.connect(copy)) as database:
        kept = database.execute("SELECT body FROM messages WHERE id = 2").fetchone()
    assert kept == ("precious",)
    if os.name == "posix":
        assert copy.stat().st_mode & 0o777 == 0o600


def test_messages_without_a_session_get_one(say, fill, hermes_home: Path) -> None:
    fill("a", "b")
    change(hermes_home, "DELETE FROM sessions WHERE id = 'a'")
    assert say("repair").status == 0
    assert listed(say) == {"recovered_1", "b"}
    assert "tell me of a" in say("show", "recovered_1").out
    assert "recovered_1 #" in say("search", "all of a").out


def test_a_lease_that_holds_is_left_alone(say, fill, hermes_home: Path) -> None:
    import socket

    from hermes_core.clock import SystemClock

    fill("a")
    until = SystemClock().now() - 600  # this process slept, and goes on
    change(
        hermes_home,
        f"UPDATE sessions SET holder = 'cli', pid = {os.getpid()}, host = '{socket.gethostname()}',"
        f" lease_until = {until}",
    )
    assert say("repair").out == "All is well.\n"


def test_the_index_is_built_anew_when_that_is_asked_for(say, fill) -> None:
    fill("a")
    assert say("repair", "--reindex").lines == ["The search index is built anew."]
    assert "all of a" in say("search", "all of a").out


# -- a damaged file ----------------------------------------------------------------------


@pytest.fixture
def damaged(fill, hermes_home: Path) -> Path:
    """Thirty sessions, of which one page is overwritten."""
    fill(*[f"s{at}" for at in range(30)])
    spoil(hermes_home / "state.db", "all of s15")
    return hermes_home / "state.db"


def test_what_can_be_read_of_a_damaged_file_is_saved(say, damaged: Path, check_sound) -> None:
    before = damaged.read_bytes()
    dry = say("repair", "--dry-run")
    assert dry.status == 1
    assert dry.lines[0].startswith("Wrong: the file is damaged: ")
    assert damaged.read_bytes() == before
    repaired = say("repair")
    assert repaired.status == 0
    (copy,) = copies(damaged.parent, "damaged")
    assert copy.read_bytes() == before
    assert f"The damaged file is kept as {copy}." in repaired.lines
    assert any("could not be saved." in line for line in repaired.lines)
    assert listed(say) == {f"s{at}" for at in range(30)}
    assert "all of s3" in say("search", "all of s3").out
    assert say("repair").out == "All is well.\n"
    assert salvage.damage(damaged) == ""
    left = [one.name for one in damaged.parent.iterdir() if ".damaged-" not in one.name]
    assert set(left) <= {"state.db", "state.db-checkpoint", "state.db-wal", "state.db-shm"}


@pytest.mark.parametrize("how", ["header", "cut", "bits"])
def test_many_kinds_of_damage(say, damaged: Path, how: str) -> None:
    data = bytearray(damaged.read_bytes())
    rng = random.Random(3)
    if how == "header":
        data[:100] = rng.randbytes(100)
    elif how == "cut":
        del data[-3 * PAGE - 77 :]
    else:
        for _ in range(60):
            data[rng.randrange(PAGE * 8, len(data))] ^= 1 << rng.randrange(8)
    damaged.write_bytes(data)
    repaired = say("repair")
    assert repaired.status == 0, repaired
    assert say("repair").out == "All is well.\n"
    assert len(listed(say)) >= 25


def test_what_stands_only_in_the_log_is_saved_too(
    say, fill, hermes_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(*[f"s{at}" for at in range(30)])
    with closing(sqlite3.connect(hermes_home / "state.db")) as open_elsewhere:
        open_elsewhere.execute("SELECT * FROM sessions").fetchall()
        fill("newest")
        crashed = tmp_path / "crashed"
        shutil.copytree(hermes_home, crashed)
    assert b"newest" not in (crashed / "state.db").read_bytes()
    (crashed / "state.db-shm").unlink()
    spoil(crashed / "state.db", "all of s15")
    monkeypatch.setenv("HERMES_HOME", str(crashed))
    log = (crashed / "state.db-wal").read_bytes()
    repaired = say("repair")
    assert repaired.status == 0
    assert "newest" in listed(say)
    assert "all of newest" in say("search", "newest").out
    (copied,) = [one for one in copies(crashed, "damaged") if one.name.endswith("-wal")]
    assert copied.read_bytes() == log


def test_a_file_of_which_nothing_can_be_read_stays_as_it_is(say, hermes_home: Path) -> None:
    hermes_home.mkdir()
    path = hermes_home / "state.db"
    path.write_bytes(b"not a database at all " * 1000)
    assert "`hermes sessions repair` saves what can be read" in say("list").err
    refused = say("repair")
    assert refused.status == 1
    assert "nothing can be read of state.db.damaged-" in refused.err
    assert "Put a backup in the place of state.db; `sqlite3 FILE .recover` may find" in refused.err
    assert path.read_bytes() == b"not a database at all " * 1000
    assert len(copies(hermes_home, "damaged")) == 1
    say("repair")
    assert len(copies(hermes_home, "damaged")) == 2


@pytest.mark.skipif(os.name == "nt", reason="there Windows itself refuses to replace the file")
def test_a_damaged_file_that_another_process_has_open_is_left_alone(
    command: Command, damaged: Path
) -> None:
    before = damaged.read_bytes()
    with closing(sqlite3.connect(damaged)) as other:
        other.execute("SELECT count(*) FROM sqlite_master").fetchone()
        refused = command.run("sessions", "repair")
    assert refused.status == 1
    assert refused.err == (
        f"hermes: {damaged} is damaged, and another process has it open.\n"
        "        End every `hermes` that runs on this home, then: hermes sessions repair\n"
    )
    assert damaged.read_bytes() == before
    assert not list(damaged.parent.glob("state.db.*"))
    assert command.run("sessions", "repair").status == 0


@pytest.mark.skipif(os.name == "nt", reason="there an open file cannot be replaced")
def test_whoever_waited_for_the_damaged_file_does_not_write_where_it_is_lost(
    damaged: Path,
) -> None:
    waiting = sqlite3.connect(damaged)  # it has the file open, and looks at nothing yet
    salvage.save(damaged, damaged.with_name("aside"))
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        waiting.execute("DELETE FROM sessions")
    waiting.close()
    assert salvage.damage(damaged) == ""


_KILLER = """
import os, pathlib, signal
kind, at, when = os.environ["KILL"].split(":")
done = 0
def killing(real):
    def call(*arguments, **named):
        global done
        done += 1
        if done == int(at) and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*arguments, **named)
        if done == int(at):
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return call
if kind == "replace":
    os.replace = killing(os.replace)
elif kind == "pwrite":
    os.pwrite = killing(os.pwrite)
else:
    pathlib.Path.unlink = killing(pathlib.Path.unlink)
"""


@pytest.mark.skipif(os.name == "nt", reason="kill -9")
@pytest.mark.parametrize(
    "point",
    [
        *("unlink:1:before", "unlink:3:after", "replace:1:before", "replace:1:after"),
        *("unlink:4:after", "unlink:5:after", "replace:2:before", "replace:2:after"),
        "pwrite:1:before",
    ],
)
def test_a_repair_that_is_killed_anywhere_is_made_again(
    command: Command, damaged: Path, point: str, check_sound: Callable[[], None], say
) -> None:
    before = damaged.read_bytes()
    environ = command.with_modules(sitecustomize=_KILLER)
    killed = command.run("sessions", "repair", environ={**environ, "KILL": point})
    assert killed.status == -9
    assert damaged.read_bytes() == before or salvage.damage(damaged) in (
        *("", "a repair was cut off before its end"),
    )
    assert command.run("sessions", "repair").status == 0
    assert len(listed(say)) == 30
    assert say("repair").out == "All is well.\n"
    assert not [one.name for one in damaged.parent.iterdir() if one.suffix in (".new", ".repaired")]


def test_no_room_to_save_is_said_before_anything_is_done(
    say, damaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = damaged.read_bytes()
    monkeypatch.setattr(shutil, "disk_usage", lambda path: type("Usage", (), {"free": 4_000_000}))
    refused = say("repair")
    assert refused.status == 1
    assert "saving needs 10 MB of disk, and 4 MB are free." in refused.err
    assert damaged.read_bytes() == before
    assert not copies(damaged.parent, "damaged")


def test_a_disk_that_fills_up_while_saving_changes_nothing(
    command: Command, damaged: Path, say
) -> None:
    resource = pytest.importorskip("resource")
    before = damaged.read_bytes()
    for limit in (20_000, len(before) - 1, len(before) + 30_000):
        refused = command.run(
            "sessions",
            "repair",
            before=lambda limit=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        )
        assert refused.status == 1, refused
        assert "could not be" in refused.err
        assert refused.err.count("\n") == 2
        assert damaged.read_bytes() == before
    assert command.run("sessions", "repair").status == 0
    assert len(listed(say)) == 30


def test_a_large_message_survives(say, fill, hermes_home: Path) -> None:
    words = " ".join(f"word{at}" for at in range(30_000))
    fill("big", messages=[user_message(words)])
    fill(*[f"s{at}" for at in range(30)])
    spoil(hermes_home / "state.db", "all of s15")
    assert say("repair").status == 0
    assert words in say("show", "big").out
