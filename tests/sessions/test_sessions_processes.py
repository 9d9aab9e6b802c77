"""Two processes on one home, kill -9, a full disk: nothing half done, nobody's work lost."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from hermes_plugins import user_message
from hermes_plugins.testing._command import Command, finish

_WRITER = """
import asyncio, sys
from pathlib import Path
from hermes_core.clock import SystemClock
from hermes_core.store.sqlite import Store
from hermes_plugins import *

async def main():
    store = Store(Path(sys.argv[1]), clock=SystemClock(), process="writer")
    await store.create_session(SessionInfo(id="live"), system="s", tools=b"[]")
    lease = await store.acquire("live", holder="writer")
    asyncio.get_running_loop().run_in_executor(None, sys.stdin.read).add_done_callback(
        lambda _: ended.set())
    ended, at = asyncio.Event(), 0
    while not ended.is_set():
        at += 1
        assert await store.append(lease, [user_message(f"live {at}")]) == [at]
        if at == 1:
            print("writing", flush=True)
        await asyncio.sleep(0.002)
    await store.release(lease)
    await store.close()
    print(at, flush=True)

asyncio.run(main())
"""


@pytest.fixture
def writer(hermes_home: Path):
    """A process that adds to the session ``live`` until it is told to stop; then how many."""
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(hermes_home / "state.db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"

    def stop() -> int:
        out, err = process.communicate("", timeout=60)
        assert (process.returncode, err) == (0, "")
        return int(out)

    yield stop
    if process.poll() is None:
        process.kill()
        process.communicate()


def test_everything_is_done_beside_a_process_that_writes(
    command: Command, fill, writer: Callable[[], int], say, check_sound, tmp_path: Path
) -> None:
    fill(*[f"old{at}" for at in range(40)], days=100)
    fill("mine")
    file = tmp_path / "all.jsonl"
    exported = command.run("sessions", "export", "--all", "-o", str(file))
    steps = (
        ("rename", "live", "a", "name"),
        ("delete", "mine", "--yes"),
        ("prune", "--older-than", "90d", "--yes"),
        ("repair", "--reindex"),
        ("import", str(file)),
    )
    ended = [exported, *(command.run("sessions", *words) for words in steps)]
    busy = command.run("sessions", "delete", "live", "old1", "--yes")
    count = writer()
    assert [one.err for one in ended] == [""] * 6
    assert [one.status for one in ended] == [0] * 6
    assert busy.status == 1
    assert "session live is in use by writer" in busy.err
    assert say("show", "a name").out.count("user: live ") == count
    assert f"live #{count} user" in say("search", "live", str(count)).out
    check_sound()


def test_pruning_twice_at_once_is_no_error(command: Command, fill, say, check_sound) -> None:
    fill(*[f"old{at}" for at in range(60)], days=100)
    words = ("sessions", "prune", "--older-than", "1d", "--yes")
    ended = [finish(one) for one in [command.start(*words) for _ in range(3)]]
    assert [(one.status, one.err) for one in ended] == [(0, "")] * 3
    assert say("list").out.startswith("No session")
    check_sound()


def test_importing_twice_at_once_keeps_both(command: Command, fill, say, tmp_path: Path) -> None:
    fill("a", "b")
    file = tmp_path / "all.jsonl"
    say("export", "--all", "-o", str(file))
    words = ("sessions", "import", str(file))
    ended = [finish(one) for one in [command.start(*words) for _ in range(3)]]
    assert [(one.status, one.err) for one in ended] == [(0, "")] * 3
    listed = msgspec.json.decode(say("list", "--json").out)
    assert len(listed) == 8
    assert len({one["title"] for one in listed}) == 8


def test_ten_questions_at_once_are_ten_sessions(command: Command, model_server) -> None:
    from hermes_plugins.testing import replies

    model_server.script(*[replies.say("answer")] * 10)
    command.talks_to(model_server)
    processes = [command.start("chat", "-q", f"question {at}") for at in range(10)]
    ended = [finish(one) for one in processes]
    assert [(one.status, one.out, one.err) for one in ended] == [(0, "answer\n", "")] * 10
    listed = msgspec.json.decode(command.run("sessions", "list", "--json").stdout)
    assert {one["title"] for one in listed} == {f"question {at}" for at in range(10)}
    assert {one["message_count"] for one in listed} == {2}


# -- kill -9 -----------------------------------------------------------------------------

KILLS = [pytest.param(4, id="4"), pytest.param(60, marks=pytest.mark.slow, id="60-slow")]


@pytest.fixture
def whole(command: Command, fill, tmp_path: Path) -> float:
    """Seconds that a command takes from its start to its end, on this machine as busy as it is."""
    fill("first")
    begin = time.monotonic()
    assert command.run("sessions", "repair").status == 0
    return time.monotonic() - begin


def kill_during(command: Command, words: tuple[str, ...], seconds: float) -> None:
    process = command.start("sessions", *words)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


@pytest.mark.skipif(os.name == "nt", reason="kill -9")
@pytest.mark.parametrize("kills", KILLS)
def test_a_killed_import_leaves_all_or_nothing(
    command: Command, fill, say, tmp_path: Path, kills: int, check_sound, whole: float
) -> None:
    words = " ".join(f"word{at}" for at in range(1000))
    fill(*[f"s{at}" for at in range(399)], messages=[user_message(words)] * 4)
    file = tmp_path / "all.jsonl"
    say("export", "--all", "-o", str(file))
    count = 400
    rng = random.Random(1)
    for _ in range(kills):
        kill_during(command, ("import", str(file)), whole * rng.uniform(0.8, 1.8))
        found = len(msgspec.json.decode(say("list", "--json", "-n", "99999").out))
        assert found in (count, count + 400)
        count = found
        check_sound()
        if count > 2000:
            names = [
                one["id"] for one in msgspec.json.decode(say("list", "--json", "-n", "9999").out)
            ]
            assert say("delete", *names[400:], "--yes").status == 0
            count = 400


@pytest.mark.skipif(os.name == "nt", reason="kill -9")
@pytest.mark.parametrize("kills", KILLS)
def test_killed_prunes_and_deletions_leave_whole_sessions(
    command: Command, fill, say, kills: int, check_sound, whole: float
) -> None:
    words = " ".join(f"word{at}" for at in range(400))
    rng = random.Random(2)
    for turn in range(kills):
        names = [f"t{turn}-{at}" for at in range(150)]
        fill(*names, days=100, messages=[user_message(words)] * 4)
        before = len(msgspec.json.decode(say("list", "--json", "-n", "99999").out))
        if turn % 2:
            kill_during(command, ("delete", *names, "--yes"), whole * rng.uniform(0.7, 1.5))
        else:
            kill_during(
                command, ("prune", "--older-than", "1d", "--yes"), whole * rng.uniform(0.7, 1.5)
            )
        after = len(msgspec.json.decode(say("list", "--json", "-n", "99999").out))
        if turn % 2:
            assert after in (before, before - 150)
        check_sound()
    assert say("prune", "--older-than", "1d", "--yes").status == 0
    assert say("search", "word3").out == "Nothing found.\n"


@pytest.mark.skipif(os.name == "nt", reason="kill -9")
@pytest.mark.parametrize("kills", KILLS)
def test_a_killed_reindex_is_gone_on_with(
    command: Command, fill, say, kills: int, check_sound, whole: float
) -> None:
    fill(*[f"s{at}" for at in range(500)])
    rng = random.Random(3)
    for _ in range(kills):
        kill_during(command, ("repair", "--reindex"), whole * rng.uniform(0.7, 1.5))
        check_sound()
    assert "all of s321" in say("search", "s321").out


# -- a full disk -------------------------------------------------------------------------


@pytest.mark.parametrize("room", [0, 30_000, 200_000])
def test_a_disk_that_fills_up_keeps_an_import_out_whole(
    command: Command, fill, say, tmp_path: Path, room: int, check_sound, hermes_home: Path
) -> None:
    resource = pytest.importorskip("resource")
    fill(*[f"s{at}" for at in range(300)])
    file = tmp_path / "all.jsonl"
    say("export", "--all", "-o", str(file))
    say("delete", *[f"s{at}" for at in range(1, 300)], "--yes")
    size = (hermes_home / "state.db").stat().st_size

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    refused = command.run("sessions", "import", str(file), before=limit)
    assert refused.status == 1
    assert refused.out == ""
    assert "could not be written" in refused.err
    assert refused.err.count("\n") == 2
    assert len(say("list", "-n", "999").lines) == 1
    check_sound()
    assert (hermes_home / "state.db").stat().st_size <= size + 4096
    assert len(command.run("sessions", "import", str(file)).out.splitlines()) == 300


def test_a_disk_that_fills_up_keeps_a_deletion_from_beginning(
    command: Command, fill, say, check_sound
) -> None:
    resource = pytest.importorskip("resource")
    words = " ".join(f"word{at}" for at in range(3000))
    fill("a", messages=[user_message(words)] * 20)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    for words in (("delete", "a", "--yes"), ("rename", "a", "b")):
        refused = command.run("sessions", *words, before=limit)
        if refused.status == 0:
            continue
        assert refused.status == 1
        assert "could not be written" in refused.err
        assert [one.split()[0] for one in say("list").lines] == ["a"]
    check_sound()
    assert say("delete", "a", "--yes").status == 0


def test_an_export_that_cannot_be_written_keeps_the_session(
    command: Command, fill, say, tmp_path: Path
) -> None:
    fill("a")
    (tmp_path / "no").touch()
    file = str(tmp_path / "no" / "a.jsonl")
    for words in (("delete", "a", "--yes", "--export", file), ("export", "a", "-o", file)):
        refused = command.run("sessions", *words)
        assert refused.status == 2
        assert refused.err.startswith(f"hermes: {file} cannot be written: ")
        assert refused.err.count("\n") == 2
    assert [one.split()[0] for one in say("list").lines] == ["a"]
    if Path("/dev/full").exists():
        full = command.run("sessions", "export", "a", "-o", "/dev/full")
        assert (full.status, full.err) == (
            *(1, "hermes: /dev/full cannot be written: No space left on device.\n"),
        )
        with open("/dev/full", "wb") as device:
            full = command.run("sessions", "export", "a", stdout=device)
        assert full.status == 1
        assert full.err == "hermes: stdout cannot be written: No space left on device.\n"
    assert say("show", "a").status == 0
