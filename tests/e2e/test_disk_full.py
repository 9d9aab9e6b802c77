"""A disk that is full: the turn ends with a clear error, and nothing earlier is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_plugins import TurnEnded
from hermes_plugins.testing import ScriptedServer, replies
from hermes_plugins.testing._command import Command, Ended

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")


def limited(size: int) -> object:
    """Files of this process may not grow beyond ``size``: writing fails as on a full disk."""

    def limit() -> None:
        import resource
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    if shutil.which("mount") is None or os.getuid() != 0:
        pytest.skip("needs root to mount")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("tmpfs cannot be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def ends_clearly(ended: Ended) -> None:
    assert (ended.status, ended.out) == (1, "")
    lines = ended.err.splitlines()
    assert 1 <= len(lines) <= 2, ended.err
    assert "state.db" in lines[0]
    assert "could not be written" in lines[0]


def test_a_file_that_may_not_grow_ends_the_turn_with_an_error(command: Command) -> None:
    with ScriptedServer(then=replies.say("fine")) as server:
        command.talks_to(server)
        assert command.run("-q", "the first question").status == 0
        size = (command.home / "state.db").stat().st_size
        long = "a question that needs room " * 10_000
        failed = command.run("-c", input=long.encode(), before=limited(size))  # type: ignore[arg-type]
        asked = len(server.requests)
        again = command.run("-c", "-q", "with room again")
    ends_clearly(failed)
    assert asked == 1, "what could not be stored was sent"
    assert again.out == "fine\n"
    assert server.requests[-1].messages[1:] == [
        {"role": "user", "content": "the first question"},
        {"role": "assistant", "content": "fine"},
        {"role": "user", "content": "with room again"},
    ]


def test_a_full_disk_loses_nothing_earlier(command: Command, small_disk: Path) -> None:
    environ = {"HERMES_HOME": str(small_disk / "home")}
    with ScriptedServer(then=replies.say("fine")) as server:
        command.talks_to(server)
        assert command.run("-q", "the first question", environ=environ).status == 0
        filler = small_disk / "filler"
        subprocess.run(
            ["dd", "if=/dev/zero", f"of={filler}", "bs=4096"], capture_output=True, check=False
        )
        failed = command.run("-c", "-q", "a question", "--json", environ=environ)
        filler.unlink()
        shown = command.run("sessions", "show", "the first question", environ=environ)
        again = command.run("-c", "-q", "with room again", environ=environ)
    assert failed.status == 1
    assert failed.err.count("\n") <= 2
    if failed.stdout:
        end = failed.events[-1]
        assert isinstance(end, TurnEnded)
        assert "could not be written" in end.reason
    else:
        assert "could not be written" in failed.err
    assert "fine" in shown.out
    assert again.out == "fine\n"
    assert {"role": "user", "content": "the first question"} in server.requests[-1].messages


def test_an_answer_that_cannot_be_stored_is_still_shown(command: Command) -> None:
    with ScriptedServer([replies.say("fine"), replies.say("word " * 60_000)]) as server:
        command.talks_to(server)
        assert command.run("-q", "the first question").status == 0
        size = max((command.home / "state.db").stat().st_size, 200_000)
        failed = command.run("-c", "-q", "say much", before=limited(size))  # type: ignore[arg-type]
    assert failed.status == 1
    assert "could not be written" in failed.err
    assert "Traceback" not in failed.err
