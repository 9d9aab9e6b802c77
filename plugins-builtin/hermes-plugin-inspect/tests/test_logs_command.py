"""`hermes logs`, as it is called."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import msgspec
import pytest

from hermes_plugins.testing import Command

SESSION = "20261130_101500_ab12cd"
LINES = f"""\
2026-11-30 10:15:00,123 INFO hermes.host 41 loaded
2026-11-30 10:15:01,000 WARNING hermes.gateway 41 irc: the connection is lost
2026-11-30 10:15:02,000 ERROR hermes.agent 42 session {SESSION} failed
Traceback (most recent call last):
  File "x.py", line 1
ValueError: \x1b[31mno
2026-11-30 10:15:03,000 DEBUG hermes.store 42 done
"""


@pytest.fixture
def logs(command: Command) -> Path:
    folder = command.home / "logs"
    folder.mkdir(parents=True)
    (folder / "hermes.log").write_text(LINES, encoding="utf-8")
    return folder


def test_the_last_records_are_shown_each_whole(command: Command, logs: Path) -> None:
    out = command.run("logs", "-n", "2").out
    assert out.splitlines() == [
        f"2026-11-30 10:15:02 ERROR   hermes.agent: session {SESSION} failed",
        "    Traceback (most recent call last):",
        '      File "x.py", line 1',
        "    ValueError: [31mno",
        "2026-11-30 10:15:03 DEBUG   hermes.store: done",
    ]


@pytest.mark.parametrize(
    ("options", "loggers"),
    [
        (["--level", "warning"], ["hermes.gateway", "hermes.agent"]),
        (["--session", SESSION], ["hermes.agent"]),
        (["--since", "2026-11-30T10:15:02"], ["hermes.agent", "hermes.store"]),
        (["-n", "1"], ["hermes.store"]),
        (["-n", "0"], []),
    ],
)
def test_filters_leave_what_was_meant(
    command: Command, logs: Path, options: list[str], loggers: list[str]
) -> None:
    ended = command.run("logs", "--json", *options)
    told = [msgspec.json.decode(line) for line in ended.stdout.splitlines()]
    assert [one["logger"] for one in told] == loggers


def test_the_gateway_has_its_own_lines(command: Command, logs: Path) -> None:
    assert command.run("logs", "gateway").out == (
        "2026-11-30 10:15:01 WARNING hermes.gateway: irc: the connection is lost\n"
    )


def test_the_audit_shows_what_the_gate_decided(command: Command) -> None:
    (command.folder / "notes.txt").write_text("Buy milk.\n", encoding="utf-8")
    assert command.run("--provider", "offline", "-q", "read notes.txt").status == 0
    out = command.run("logs", "audit").out
    assert "INFO    gate: read_file allowed by " in out
    assert "notes.txt" in out
    assert command.run("logs", "audit", "--level", "error").out == ""


def test_files_that_were_moved_aside_are_read_where_one_holds_too_little(
    command: Command, logs: Path
) -> None:
    (logs / "hermes.log").rename(logs / "hermes.log.1")
    (logs / "hermes.log").write_text("2026-11-30 11:00:00,000 INFO hermes.host 1 new\n", "utf-8")
    texts = [
        msgspec.json.decode(x)["text"] for x in command.run("logs", "--json").stdout.splitlines()
    ]
    assert [texts[0], *texts[-2:]] == ["loaded", "done", "new"]


def test_secrets_are_masked_although_the_log_holds_them(command: Command, logs: Path) -> None:
    (command.home / ".env").write_text("MOON=a-word-that-nobody-knows\n", encoding="utf-8")
    with (logs / "hermes.log").open("a", encoding="utf-8") as file:
        file.write("2026-11-30 10:16:00,000 INFO hermes.host 1 a-word-that-nobody-knows\n")
        file.write("2026-11-30 10:16:00,000 INFO hermes.host 1 key sk-test-not-a-real-key-0123\n")
    out = command.run("logs").out
    assert "nobody-knows" not in out
    assert "not-a-real-key" not in out


def test_without_a_log_it_says_where_it_would_be(command: Command) -> None:
    ended = command.run("logs")
    assert (ended.status, ended.out) == (0, "")
    assert ended.err == f"There is no log yet: {command.home / 'logs' / 'hermes.log'}\n"


def test_where_nothing_fits_it_says_so(command: Command, logs: Path) -> None:
    ended = command.run("logs", "--session", "20200101_000000_000000")
    assert ended.out == ""
    assert ended.err.startswith("Nothing fits in ")


def test_a_time_that_is_none_is_refused(command: Command, logs: Path) -> None:
    ended = command.run("logs", "--since", "moon")
    assert ended.status == 2
    assert "Say 30m, 2h, 3d, or a date" in ended.err


def test_logs_are_there_when_the_settings_are_broken(command: Command, logs: Path) -> None:
    (command.home / "hermes.yaml").write_text("a: [\n", encoding="utf-8")
    assert "hermes.store: done" in command.run("logs").out


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C of a child is POSIX's here")
def test_following_shows_what_comes_also_in_a_new_file_until_ctrl_c(
    command: Command, logs: Path
) -> None:
    with command.start("logs", "-f", "-n", "1") as process:
        assert process.stdout is not None
        assert b"hermes.store: done" in process.stdout.readline()
        with (logs / "hermes.log").open("a", encoding="utf-8") as file:
            file.write("2026-11-30 10:17:00,000 INFO hermes.host 1 one more\n")
        assert b"hermes.host: one more" in process.stdout.readline()
        with (logs / "hermes.log").open("a", encoding="utf-8") as file:
            file.write("2026-11-30 10:17:30,000 INFO hermes.host 1 the last one\n")
        os.replace(logs / "hermes.log", logs / "hermes.log.1")
        (logs / "hermes.log").write_text(
            "2026-11-30 10:18:00,000 INFO hermes.host 1 anew\n", "utf-8"
        )
        assert b"hermes.host: the last one" in process.stdout.readline()
        assert b"hermes.host: anew" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait(60) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b"\n"
