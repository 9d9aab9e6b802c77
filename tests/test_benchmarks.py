"""The benchmarks measure what they say: CPU and memory of children, and the table tells it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from benchmarks.measure import Command, Costs, NotRun, run, run_interleaved
from benchmarks.rows.prompt import count_breaks
from benchmarks.table import Row, render

children = pytest.mark.skipif(not hasattr(os, "wait4"), reason="needs wait4")
BUSY = "import time\nwhile time.process_time() < 0.3: pass"


def python(code: str, *, typed: str = "", expect: str = "", seconds: float = 60.0) -> Command:
    return Command(
        argv=[sys.executable, "-I", "-c", code],
        env=dict(os.environ),
        cwd=Path(__file__).parent,
        typed=typed or None,
        expect=expect,
        seconds=seconds,
    )


@children
def test_the_cpu_of_a_busy_child_is_measured() -> None:
    assert 0.29 < run(python(BUSY)).cpu < 0.29 + 1.0
    assert run(python("pass")).cpu < 0.29


@children
def test_the_cpu_of_a_childs_children_counts() -> None:
    code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-I', '-c', {BUSY!r}])"
    assert run(python(code)).cpu > 0.29


@children
def test_peak_memory_is_the_childs_and_not_ours() -> None:
    ours = b"x" * 200_000_000
    assert run(python("pass")).peak < 100_000_000 < len(ours)
    assert run(python("x = b'x' * 150_000_000")).peak > 150_000_000


@children
def test_a_child_that_fails_is_not_a_figure() -> None:
    with pytest.raises(NotRun, match="exit status 1: no such luck"):
        run(python("import sys; sys.exit('no such luck')"))


@children
def test_a_child_that_did_not_do_the_work_is_not_a_figure() -> None:
    with pytest.raises(NotRun, match="'42' is not in its output: 41"):
        run(python("print(41)", expect="42"))


@children
def test_a_child_that_hangs_is_killed() -> None:
    with pytest.raises(NotRun, match=r"killed after 0\.5 s"):
        run(python("import threading; threading.Event().wait()", seconds=0.5))


@children
def test_a_child_at_a_terminal_reads_what_is_typed() -> None:
    code = "import sys; print(sys.stdin.isatty(), sys.stdout.isatty(), input()[::-1])"
    assert "True True tac" in run(python(code, typed="cat\n")).output


@children
def test_commands_take_turns_and_one_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    log = tmp_path / "log"
    note = f"open({str(log)!r}, 'a').write('{{}}')"
    commands = {
        "a": python(note.format("a")),
        "bad": python(note.format("x") + "; raise SystemExit(3)"),
        "b": python(note.format("b")),
        "slow": python(note.format("s")),
    }
    costs = run_interleaved(commands, times=3, fewer=["slow"], fewer_times=1)
    assert log.read_text(encoding="utf-8") == "axbsabsabab"
    found = {name: isinstance(cost, Costs) and len(cost.runs) for name, cost in costs.items()}
    assert found == {"a": 3, "bad": False, "b": 3, "slow": 1}


def test_the_table_is_aligned_and_says_what_was_reached_and_what_was_not_run() -> None:
    rows = [
        Row(
            figure="one question",
            unit="s",
            target=0.32,
            measured=0.30,
            floor=0.2,
            peers={"other": 1234.5},
        ),
        Row(figure="a turn", unit="ms", digits=1, target=5, measured=6.75, note="so far"),
        Row(figure="search", unit="ms", target=15, measured="no data", peers={"other": "no key"}),
    ]
    assert render(rows, ["other"]).splitlines() == [
        "figure        to reach  measured           floor       other  note",
        "one question    0.32 s    0.30 s      ok  0.20 s  1,234.50 s",
        "a turn          5.0 ms    6.8 ms  MISSED       -           -  so far",
        "search        15.00 ms   not run               -     not run",
        "",
        "hermes, search: not run: no data",
        "other, search: not run: no key",
    ]


def body(*messages: str, tools: str = "[1]") -> bytes:
    return f'{{"model":"m","messages":[{",".join(messages)}],"tools":{tools}}}'.encode()


def test_requests_that_only_grow_at_the_end_of_the_messages_are_no_breaks() -> None:
    assert count_breaks([body('{"a":1}'), body('{"a":1}', "2"), body('{"a":1}', "2", "3")]) == 0


@pytest.mark.parametrize(
    "second",
    [
        body('{"a":2}', "2"),
        body('{"a": 1}', "2"),
        body("2"),
        body('{"a":1}', "2", tools="[1,2]"),
    ],
    ids=["changed", "encoded otherwise", "dropped", "other tools"],
)
def test_requests_that_change_what_was_sent_are_breaks(second: bytes) -> None:
    assert count_breaks([body('{"a":1}'), second]) == 1
