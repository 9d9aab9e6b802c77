"""Commands of the local environment: bounds, time-outs, what is left behind, what a child sees."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hermes_plugin_terminal import Settings, output
from hermes_plugin_terminal.background import KEPT_SECONDS, MAX_RUNNING
from hermes_plugin_terminal.files import from_git_bash
from hermes_plugin_terminal.local import LocalEnvironment

from hermes_core.clock import SystemClock
from hermes_plugins import Clock, Section, ToolError
from hermes_plugins.testing import FakeHost, VirtualClock

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a POSIX shell")


def local(
    tmp_path: Path,
    *,
    clock: Clock | None = None,
    section: Section | None = None,
    variables: dict[str, str] | None = None,
) -> LocalEnvironment:
    (tmp_path / "work").mkdir(exist_ok=True)
    host = FakeHost(
        tmp_path / "home", clock=clock or SystemClock(), section=section, variables=variables
    )
    return LocalEnvironment(host, str(tmp_path / "work"))


async def until(pipe: Path, line: str) -> None:
    """Return when ``line`` came through the named pipe."""
    environment = local(pipe.parent)
    got = await environment.exec(["head", "-n", "1", str(pipe)], timeout=20)
    assert got.output == f"{line}\n"


async def test_200_megabytes_of_output_take_little_memory_and_a_bounded_file(
    tmp_path: Path,
) -> None:
    import resource

    environment = local(tmp_path)
    await environment.exec("true")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = await environment.exec("yes | head -c 200000000", timeout=120)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * (1 if sys.platform == "darwin" else 1024) < 20_000_000
    assert len(result.output) <= 50_000
    assert result.omitted_chars + len(result.output) > 200_000_000
    assert "the first 50 MB are in" in result.output
    assert os.path.getsize(result.spilled_to) == output.SPILL_BYTES


async def test_output_that_cannot_be_kept_is_still_shown(tmp_path: Path) -> None:
    environment = local(tmp_path)
    (tmp_path / "home").write_text("in the way of the cache folder", encoding="utf-8")
    result = await environment.exec("yes | head -n 2000; echo end", output_limit=1000)
    assert result.output.endswith("end\n")
    assert "left out; not kept ..." in result.output
    assert result.spilled_to == ""


async def test_kept_output_is_for_its_owner_and_the_oldest_makes_room(tmp_path: Path) -> None:
    environment = local(tmp_path)
    folder = tmp_path / "home" / "cache" / "output"
    folder.mkdir(parents=True)
    for number in range(output.KEPT_FILES + 5):
        (folder / f"{number}.txt").touch()
        os.utime(folder / f"{number}.txt", (number, number))
    result = await environment.exec("yes | head -n 2000", output_limit=1000)
    assert os.stat(result.spilled_to).st_mode & 0o777 == 0o600
    assert len(list(folder.iterdir())) == output.KEPT_FILES
    assert not (folder / "5.txt").exists()
    assert (folder / "6.txt").exists()


async def test_a_character_cut_by_the_pipe_is_put_together(tmp_path: Path) -> None:
    line = r"printf '\303'; sleep 0.05; printf '\251\360\237'; sleep 0.05; printf '\230\200'"
    assert (await local(tmp_path).exec(line)).output == "é😀"


async def test_what_does_not_listen_is_killed_after_two_seconds(tmp_path: Path) -> None:
    clock = VirtualClock()
    environment = local(tmp_path, clock=clock)
    os.mkfifo(tmp_path / "pipe")
    line = f"trap 'echo no' TERM; echo ready >{tmp_path}/pipe; while :; do sleep 0.02; done"
    running = asyncio.ensure_future(environment.exec(line, timeout=5))
    await until(tmp_path / "pipe", "ready")
    await clock.advance(5)
    await local(tmp_path).exec("sleep 0.2")
    assert not running.done()
    await clock.advance(2)
    result = await running
    assert result.timed_out
    assert "no\n" in result.output


async def test_a_command_that_cleans_up_on_sigterm_may(tmp_path: Path) -> None:
    environment = local(tmp_path)
    line = "trap 'echo cleaned; exit' TERM; echo begun; while :; do sleep 0.02; done"
    result = await environment.exec(line, timeout=0.5)
    assert (result.exit_code, result.timed_out) == (None, True)
    assert result.output.endswith("cleaned\n")


async def test_a_flood_from_a_child_left_behind_does_not_hold_the_call(tmp_path: Path) -> None:
    environment = local(tmp_path)
    result = await environment.exec("yes & echo done", timeout=20)
    assert (result.exit_code, result.timed_out) == (0, False)
    await environment.close()


async def test_closing_ends_what_a_command_left_behind(tmp_path: Path) -> None:
    environment = local(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    other = local(tmp_path)
    reader = asyncio.ensure_future(other.exec(["cat", str(tmp_path / "pipe")], timeout=20))
    line = f"exec 3>{tmp_path}/pipe; sleep 300 & echo done"
    assert (await environment.exec(line, timeout=20)).exit_code == 0
    await environment.close()
    assert not (await reader).timed_out


async def test_a_signal_is_told_as_shells_do(tmp_path: Path) -> None:
    result = await local(tmp_path).exec(["sh", "-c", "kill -SEGV $$"])
    assert result.exit_code == 139


async def test_a_child_sees_the_hosts_variables_and_its_own_folder(tmp_path: Path) -> None:
    variables = {"PATH": os.environ["PATH"], "PWD": "/wrong", "ONE": "1"}
    environment = local(tmp_path, variables=variables)
    result = await environment.exec(["env"], env={"TWO": "2"})
    assert sorted(result.output.splitlines()) == [
        "ONE=1",
        f"PATH={os.environ['PATH']}",
        f"PWD={environment.workspace}",
        "TWO=2",
    ]


async def test_a_variable_given_for_one_call_does_not_carry_over(tmp_path: Path) -> None:
    environment = local(tmp_path)
    await environment.exec("true", env={"ONCE": "1"}, session_key="s")
    assert (await environment.exec('echo "$ONCE"', session_key="s")).output == "\n"


@pytest.mark.parametrize("shell", ["bash", "dash", "sh", "zsh"])
async def test_state_carries_over_in_every_shell(tmp_path: Path, shell: str) -> None:
    environment = local(tmp_path, section=Settings(shell=shell))
    try:
        await environment.exec("true")
    except ToolError:
        pytest.skip(f"{shell} is not installed")
    first = await environment.exec("cd /; export A='x y'; set -u; exit 7", session_key="s")
    assert (first.exit_code, first.cwd) == (7, "/")
    # Not empty: zsh as Debian sets it up fills an empty one in.
    second = await environment.exec('pwd; echo "$A"; PATH=/none; export PATH', session_key="s")
    assert second.output == "/\nx y\n"
    assert (await environment.exec('echo "<$PATH>"', session_key="s")).output == "</none>\n"


async def test_a_folder_that_was_removed_gives_way_to_the_workspace(tmp_path: Path) -> None:
    environment = local(tmp_path)
    await environment.exec("mkdir gone; cd gone", session_key="s")
    await environment.exec("rmdir ../gone", session_key="s")
    result = await environment.exec("pwd", session_key="s")
    assert result.output == f"{environment.workspace}\n"


async def test_nothing_is_left_of_the_files_that_carry_state(tmp_path: Path) -> None:
    environment = local(tmp_path)
    await environment.exec("cd /", session_key="s")
    await environment.exec("sleep 300", session_key="s", timeout=0.2)
    with pytest.raises(ToolError, match="too long"):
        await environment.exec("x" * 5_000_000, session_key="s")
    assert list((tmp_path / "home" / "cache" / "shell").iterdir()) == []


async def test_more_exports_than_a_program_can_take_do_not_carry_over(tmp_path: Path) -> None:
    environment = local(tmp_path)
    line = "export SMALL=1; cd /"
    await environment.exec(line, session_key="s")
    grow = (
        "for i in 1 2 3 4; do export BIG$i=$(head -c 100000 /dev/zero | tr '\\0' x); done; cd /usr"
    )
    await environment.exec(grow, session_key="s")
    result = await environment.exec('echo "$SMALL${#BIG1}"; pwd', session_key="s")
    assert result.output == "10\n/usr\n"


async def test_a_configured_shell_that_is_missing_is_an_error_that_names_the_setting(
    tmp_path: Path,
) -> None:
    environment = local(tmp_path, section=Settings(shell="no-such-shell"))
    with pytest.raises(ToolError, match=r"no-such-shell.*plugins\.terminal\.shell"):
        await environment.exec("true")


async def test_of_a_background_process_the_last_200_000_characters_are_kept(
    tmp_path: Path,
) -> None:
    environment = local(tmp_path)
    process = await environment.start("yes 123456789 | head -n 100000; echo end")
    assert await process.wait() == 0
    text, position = process.output()
    assert position == 1_000_004
    assert len(text) == 200_000
    assert text.endswith("123456789\nend\n")
    assert process.output(since=10) == (text, position)
    assert process.output(since=position - 4) == ("end\n", position)
    assert process.output(since=position) == ("", position)


async def test_an_ended_process_is_kept_for_half_an_hour(tmp_path: Path) -> None:
    clock = VirtualClock()
    environment = local(tmp_path, clock=clock)
    ended = await environment.start("exit 3")
    await ended.wait()
    running = await environment.start("sleep 300")
    await clock.advance(KEPT_SECONDS)
    assert environment.processes() == [ended, running]
    await clock.advance(1)
    assert environment.processes() == [running]
    running._running.kill()
    await running.wait()


async def test_too_many_background_processes_are_refused(tmp_path: Path) -> None:
    environment = local(tmp_path)
    for _ in range(MAX_RUNNING):
        await environment.start("exec sleep 300")
    with pytest.raises(ToolError, match="64 background processes run already"):
        await environment.start("sleep 300")
    await environment.processes()[0].kill()
    extra = await environment.start("sleep 300")
    assert extra.id == "p65"
    await environment.close()


def test_a_running_command_and_a_stuck_file_do_not_hold_up_the_exit(tmp_path: Path) -> None:
    script = f"""
import asyncio, threading
from pathlib import Path
from hermes_core.clock import SystemClock
from hermes_plugin_terminal import threads
from hermes_plugin_terminal.local import LocalEnvironment
from hermes_plugins.testing import FakeHost

async def main():
    host = FakeHost(Path({str(tmp_path)!r}), clock=SystemClock())
    environment = LocalEnvironment(host, {str(tmp_path)!r})
    running = asyncio.ensure_future(environment.exec("echo $$ >pid; exec sleep 300"))
    stuck = asyncio.ensure_future(threads.in_thread(threading.Event().wait))
    await environment.start("sleep 300")
    while not Path({str(tmp_path)!r}, "pid").exists():
        await asyncio.sleep(0.01)
    await environment.close()

asyncio.run(main())
print("out")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.stdout, done.stderr) == ("out\n", "")


@pytest.mark.parametrize(
    ("given", "native"),
    [
        ("/c/Users/me", "C:/Users/me"),
        ("/c", "C:/"),
        ("/cygdrive/d/x", "D:/x"),
        ("/usr/bin", "/usr/bin"),
        ("C:\\Users", "C:\\Users"),
        ("c/x", "c/x"),
        ("/", "/"),
    ],
)
def test_paths_of_git_bash_are_understood(given: str, native: str) -> None:
    assert from_git_bash(given) == native
