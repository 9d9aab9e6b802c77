"""What every environment must do, as tests to subclass.

A subclass gives `EnvironmentConformance.make`. Everything goes through the environment itself, so one
that is a container or another machine can pass; it needs a POSIX shell with the usual small programs.
"""

from __future__ import annotations

import asyncio
import posixpath
import unicodedata
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from hermes_plugins._environments import Environment, FileStat, Process
from hermes_plugins._errors import ToolError
from hermes_plugins.testing._context import FakeCancelled

_LONG = 20.0
"""Seconds after which a command that should have ended counts as hanging."""


class _Suite:
    pytestmark = pytest.mark.anyio

    @pytest.fixture
    async def environment(self, tmp_path: Path) -> AsyncIterator[Environment]:
        """The one under test; closed afterwards."""
        made = self.make(tmp_path)
        yield made
        await made.close()

    def make(self, tmp_path: Path) -> Environment:
        """A fresh environment whose workspace is empty. Its clock must be a real one."""
        raise NotImplementedError

    async def shell(self, environment: Environment, line: str) -> str:
        """Run a line that must succeed."""
        result = await environment.exec(line, timeout=_LONG)
        assert result.exit_code == 0, result.output
        return result.output

    async def until(self, environment: Environment, condition: Callable[[], bool]) -> None:
        """Wait for something that has to come."""
        for _ in range(500):
            if condition():
                return
            await environment.exec("sleep 0.02")
        pytest.fail("it never came")


class FileConformance(_Suite):
    """Finding, reading and writing files."""

    async def test_a_relative_path_starts_from_the_workspace(
        self, environment: Environment
    ) -> None:
        assert environment.resolve("a/b") == posixpath.join(environment.workspace, "a/b")
        assert environment.resolve(environment.workspace) == environment.workspace
        assert environment.resolve("a/../b") == posixpath.join(environment.workspace, "b")

    async def test_a_tilde_is_the_home_folder(self, environment: Environment) -> None:
        home = (await self.shell(environment, "cd && pwd -P")).strip()
        assert environment.resolve("~/x") == posixpath.join(home, "x")

    async def test_links_are_followed_as_far_as_they_exist(self, environment: Environment) -> None:
        await self.shell(environment, "mkdir real; ln -s real link; ln -s nowhere dangling")
        assert environment.resolve("link/new/file") == environment.resolve("real/new/file")
        assert environment.resolve("dangling") == environment.resolve("nowhere")

    async def test_a_path_with_a_zero_byte_is_refused(self, environment: Environment) -> None:
        with pytest.raises(ToolError, match="zero byte"):
            environment.resolve("a\0b")

    async def test_stat_tells_files_folders_links_and_what_is_missing(
        self, environment: Environment
    ) -> None:
        await environment.write("file", b"12345")
        await self.shell(environment, "chmod 640 file; mkdir folder; ln -s file link; ln -s no off")
        found = await environment.stat("file")
        assert (found.kind, found.size, found.mode, found.is_link) == ("file", 5, 0o640, False)
        assert found.modified > 1_500_000_000 * 10**9
        assert (await environment.stat("folder")).kind == "folder"
        link = await environment.stat("link")
        assert (link.kind, link.size, link.is_link) == ("file", 5, True)
        assert await environment.stat("off") == FileStat(kind="missing", is_link=True)
        assert await environment.stat("file/below") == FileStat(kind="missing")
        assert await environment.stat("no/such/file") == FileStat(kind="missing")

    async def test_a_list_is_sorted_and_folders_end_with_a_slash(
        self, environment: Environment
    ) -> None:
        await self.shell(environment, "mkdir b; touch c a .hidden")
        assert list(await environment.list(".")) == [".hidden", "a", "b/", "c"]
        assert list(await environment.list("b")) == []

    async def test_listing_what_is_no_folder_names_it(self, environment: Environment) -> None:
        await environment.write("file", b"")
        for path in ("file", "missing"):
            with pytest.raises(ToolError, match=path):
                await environment.list(path)

    async def test_what_is_written_is_read_back_byte_for_byte(
        self, environment: Environment
    ) -> None:
        data = bytes(range(256)) * 10_000
        written = await environment.write("new/folders/file.bin", data)
        assert await environment.read("new/folders/file.bin") == data
        assert written == await environment.stat("new/folders/file.bin")
        await environment.write("new/folders/file.bin", b"")
        assert await environment.read("new/folders/file.bin") == b""

    async def test_reading_what_is_no_file_names_it(self, environment: Environment) -> None:
        await self.shell(environment, "mkdir folder; mkfifo pipe")
        for path in ("folder", "pipe", "missing"):
            with pytest.raises(ToolError, match=path):
                await environment.read(path)

    async def test_a_file_over_the_limit_is_an_error_that_says_so(
        self, environment: Environment
    ) -> None:
        await environment.write("file", b"x" * 1001)
        assert len(await environment.read("file", limit=1001)) == 1001
        with pytest.raises(ToolError, match=r"file: 1,001 bytes.* at most 1,000"):
            await environment.read("file", limit=1000)

    async def test_a_link_is_written_through(self, environment: Environment) -> None:
        await self.shell(
            environment, "mkdir there; echo old >there/file; ln -s there/file link; ln -s off new"
        )
        await environment.write("link", b"new")
        assert await environment.read("there/file") == b"new"
        assert (await environment.stat("link")).is_link
        await environment.write("new", b"made")
        assert await environment.read("off") == b"made"
        assert (await environment.stat("new")).is_link

    async def test_an_old_file_keeps_its_mode_and_a_new_one_gets_the_umasks(
        self, environment: Environment
    ) -> None:
        await self.shell(environment, "echo x >script; chmod 751 script; echo x >plain")
        await environment.write("script", b"new")
        await environment.write("fresh", b"new")
        assert (await environment.stat("script")).mode == 0o751
        plain = await environment.stat("plain")
        assert (await environment.stat("fresh")).mode == plain.mode

    async def test_a_file_that_changed_since_is_left_alone(self, environment: Environment) -> None:
        before = await environment.write("file", b"mine")
        await environment.write("file", b"someone else's")
        with pytest.raises(ToolError, match="file: it changed"):
            await environment.write("file", b"mine again", expected=before)
        assert await environment.read("file") == b"someone else's"
        current = await environment.stat("file")
        await environment.write("file", b"mine again", expected=current)
        assert await environment.read("file") == b"mine again"

    async def test_a_file_that_should_not_exist_is_left_alone(
        self, environment: Environment
    ) -> None:
        missing = await environment.stat("file")
        await environment.write("file", b"first", expected=missing)
        with pytest.raises(ToolError, match="file: it changed"):
            await environment.write("file", b"second", expected=missing)
        assert await environment.read("file") == b"first"

    async def test_a_failed_write_names_the_target_and_leaves_nothing_behind(
        self, environment: Environment
    ) -> None:
        await self.shell(environment, "mkdir folder; echo x >file; mkfifo pipe")
        for path in ("folder", "file/below", "pipe"):
            with pytest.raises(ToolError, match=path):
                await environment.write(path, b"data")
        assert list(await environment.list(".")) == ["file", "folder/", "pipe"]
        assert list(await environment.list("folder")) == []

    async def test_a_name_in_another_unicode_form_is_found(self, environment: Environment) -> None:
        decomposed = unicodedata.normalize("NFD", "caf\u00e9")
        await self.shell(
            environment, f"mkdir {decomposed}; echo x >{decomposed}/'at 9\u202fPM.txt'"
        )
        assert await environment.read("caf\u00e9/at 9 PM.txt") == b"x\n"
        await environment.write("caf\u00e9/at 9 PM.txt", b"y")
        assert list(await environment.list("caf\u00e9")) == ["at 9\u202fPM.txt"]

    async def test_between_two_equivalent_names_nothing_is_guessed(
        self, environment: Environment
    ) -> None:
        await self.shell(environment, "touch 'a\u202fb c' 'a b\u202fc'")
        if len(await environment.list(".")) < 2:
            pytest.skip("the file system knows one of them only")
        assert (await environment.stat("a b c")).kind == "missing"

    async def test_removing_takes_one_file(self, environment: Environment) -> None:
        await self.shell(environment, "mkdir folder; touch file; ln -s folder link")
        await environment.remove("file")
        assert (await environment.stat("file")).kind == "missing"
        for path in ("file", "folder", "link"):
            with pytest.raises(ToolError, match=path):
                await environment.remove(path)
        assert (await environment.stat("link")).kind == "folder"


class CommandConformance(_Suite):
    """Running commands and waiting for them."""

    async def test_a_command_gives_output_and_exit_code(self, environment: Environment) -> None:
        result = await environment.exec("echo one; echo two >&2; echo three; exit 3")
        assert (result.output, result.exit_code) == ("one\ntwo\nthree\n", 3)
        assert not result.timed_out
        assert not result.cancelled
        assert result.omitted_chars == 0

    async def test_an_argument_list_runs_without_a_shell(self, environment: Environment) -> None:
        result = await environment.exec(["printf", "%s", "$HOME; 'x' *"])
        assert result.output == "$HOME; 'x' *"

    async def test_a_program_that_is_not_there_is_an_error_that_names_it(
        self, environment: Environment
    ) -> None:
        with pytest.raises(ToolError, match="no-such-program"):
            await environment.exec(["no-such-program", "x"])

    async def test_standard_input_is_closed_unless_given(self, environment: Environment) -> None:
        silent = await environment.exec("cat; echo end", timeout=_LONG)
        assert silent.output == "end\n"
        text = "é" * 100_000  # more than a pipe holds
        given = await environment.exec(
            "cat; echo end", stdin=text, timeout=_LONG, output_limit=200_000
        )
        assert given.output == f"{text}end\n"

    async def test_folder_and_variables_can_be_given(self, environment: Environment) -> None:
        await self.shell(environment, "mkdir sub")
        result = await environment.exec('pwd; echo "$GIVEN"', cwd="sub", env={"GIVEN": "a b"})
        assert result.output == f"{environment.resolve('sub')}\na b\n"
        assert result.cwd == environment.resolve("sub")

    async def test_a_folder_that_is_not_there_is_an_error_that_names_it(
        self, environment: Environment
    ) -> None:
        with pytest.raises(ToolError, match="nowhere"):
            await environment.exec("pwd", cwd="nowhere")

    async def test_output_that_is_not_utf8_is_replaced(self, environment: Environment) -> None:
        result = await environment.exec(r"printf 'a\377b\303\251'")
        assert result.output == "a\ufffdb\u00e9"

    async def test_long_output_keeps_head_and_tail_and_says_where_the_rest_is(
        self, environment: Environment
    ) -> None:
        result = await environment.exec(
            "echo first; yes 0123456789 | head -n 20000; echo last", output_limit=2000
        )
        whole = "first\n" + "0123456789\n" * 20_000 + "last\n"
        assert len(result.output) <= 2000
        assert result.output.startswith("first\n")
        assert result.output.endswith("last\n")
        kept = len(whole) - result.omitted_chars
        assert 1500 < kept < 2000
        head = next(i for i, (a, b) in enumerate(zip(result.output, whole, strict=False)) if a != b)
        assert 0.35 < head / kept < 0.45
        assert f"{result.omitted_chars:,}" in result.output
        assert result.spilled_to in result.output
        assert (await environment.read(result.spilled_to)).decode() == whole

    async def test_a_timeout_kills_the_whole_group_and_keeps_the_output(
        self, environment: Environment
    ) -> None:
        await self.shell(environment, "mkfifo alive")
        reader = asyncio.ensure_future(environment.exec("cat alive", timeout=_LONG))
        result = await environment.exec("echo begun; sleep 300 >alive & wait", timeout=1.5)
        assert (result.output, result.exit_code) == ("begun\n", None)
        assert result.timed_out
        assert not result.cancelled
        assert not (await reader).timed_out, "a child of the command outlived it"

    async def test_a_call_that_is_called_off_returns_what_was_printed(
        self, environment: Environment
    ) -> None:
        await self.shell(environment, "mkfifo alive")
        cancelled = FakeCancelled()
        alive = await environment.start("cat alive")
        line = "echo begun; (echo here; exec sleep 300) >alive & wait"
        running = asyncio.ensure_future(environment.exec(line, cancelled=cancelled))
        await self.until(environment, lambda: alive.output()[0] == "here\n")
        cancelled.set()
        result = await running
        assert (result.output, result.exit_code) == ("begun\n", None)
        assert result.cancelled
        assert not result.timed_out
        assert await alive.wait() == 0

    async def test_a_call_that_is_called_off_already_ends_at_once(
        self, environment: Environment
    ) -> None:
        cancelled = FakeCancelled()
        cancelled.set()
        result = await environment.exec("sleep 300", cancelled=cancelled, timeout=_LONG)
        assert result.cancelled

    async def test_cancelling_the_task_kills_the_group_too(self, environment: Environment) -> None:
        await self.shell(environment, "mkfifo alive")
        alive = await environment.start("cat alive")
        running = asyncio.ensure_future(
            environment.exec("(echo here; exec sleep 300) >alive & wait")
        )
        await self.until(environment, lambda: alive.output()[0] == "here\n")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await alive.wait() == 0

    async def test_a_child_left_behind_does_not_hold_the_call(
        self, environment: Environment
    ) -> None:
        result = await environment.exec("sleep 30 & echo done", timeout=_LONG)
        assert (result.output, result.exit_code) == ("done\n", 0)


class SessionConformance(_Suite):
    """What carries over from one command to the next."""

    async def test_folder_and_exports_carry_over(self, environment: Environment) -> None:
        await self.shell(environment, "mkdir -p sub/deep")
        first = await environment.exec(
            "cd sub; export KEPT='a\n\"b\" $c'; LOCAL=x; exit 4", session_key="s"
        )
        assert (first.exit_code, first.cwd) == (4, environment.resolve("sub"))
        second = await environment.exec(
            'pwd; echo "$KEPT/$LOCAL"; cd deep; unset KEPT', session_key="s"
        )
        assert second.output == f'{environment.resolve("sub")}\na\n"b" $c/\n'
        third = await environment.exec('echo "${KEPT-gone}"; cd - >/dev/null; pwd', session_key="s")
        assert third.output == f"gone\n{environment.resolve('sub')}\n"

    async def test_sessions_do_not_meet(self, environment: Environment) -> None:
        await self.shell(environment, "mkdir sub")
        await environment.exec("cd sub; export X=1", session_key="a")
        for key in ("b", ""):
            other = await environment.exec('pwd; echo "$X"', session_key=key)
            assert other.output == f"{environment.workspace}\n\n"

    async def test_a_given_folder_counts_for_that_call_alone(
        self, environment: Environment
    ) -> None:
        await self.shell(environment, "mkdir sub other")
        await environment.exec("cd sub", session_key="s")
        assert (await environment.exec("pwd", cwd="other", session_key="s")).output == (
            f"{environment.resolve('other')}\n"
        )
        after = await environment.exec("pwd", session_key="s")
        assert after.output == f"{environment.resolve('sub')}\n"

    async def test_what_a_command_prints_cannot_pass_for_what_carries_over(
        self, environment: Environment
    ) -> None:
        result = await environment.exec("env; pwd; printf '/tmp\\0X=1\\0'", session_key="s")
        assert result.exit_code == 0
        after = await environment.exec('pwd; echo "$X"', session_key="s")
        assert after.output == f"{environment.workspace}\n\n"

    async def test_the_line_is_taken_as_it_is(self, environment: Environment) -> None:
        line = "cat <<'EOF'\n$HOME 'quoted' \"double\" `tick` \\\nEOF\necho \"$#\""
        result = await environment.exec(line, session_key="s")
        assert result.output == "$HOME 'quoted' \"double\" `tick` \\\n0\n"


class BackgroundConformance(_Suite):
    """Commands that run on while others do."""

    async def test_a_background_process_is_listed_and_its_output_read_in_pieces(
        self, environment: Environment
    ) -> None:
        process = await environment.start("echo one; read line; echo two-$line; exit 5")
        assert process in environment.processes()
        assert process.command.startswith("echo one")
        assert process.pid > 0
        assert _runs(process)
        await self.until(environment, lambda: process.output()[0] == "one\n")
        _, position = process.output()
        await process.write("é\n")
        assert await process.wait() == 5
        assert process.exit_code == 5
        assert process.output(since=position)[0] == "two-é\n"
        assert process.output()[0] == "one\ntwo-é\n"
        assert process in environment.processes()

    async def test_closing_its_input_is_its_end_of_file(self, environment: Environment) -> None:
        process = await environment.start("cat; echo end")
        await process.write("in\n")
        await process.close_input()
        assert await process.wait() == 0
        assert process.output()[0] == "in\nend\n"
        with pytest.raises(ToolError, match=process.id):
            await process.write("more")

    async def test_killing_one_ends_everything_it_started(self, environment: Environment) -> None:
        await self.shell(environment, "mkfifo alive")
        alive = await environment.start("cat alive")
        process = await environment.start("(echo here; exec sleep 300) >alive & wait")
        await self.until(environment, lambda: alive.output()[0] == "here\n")
        await process.kill()
        assert await alive.wait() == 0
        assert process.exit_code not in (None, 0)

    async def test_it_starts_from_what_carried_over(self, environment: Environment) -> None:
        await self.shell(environment, "mkdir sub")
        await environment.exec("cd sub; export X=1", session_key="s")
        process = await environment.start('pwd; echo "$X"; cd /', session_key="s")
        await process.wait()
        assert process.output()[0] == f"{environment.resolve('sub')}\n1\n"
        after = await environment.exec("pwd", session_key="s")
        assert after.output == f"{environment.resolve('sub')}\n"

    async def test_closing_the_environment_ends_what_runs(self, environment: Environment) -> None:
        process = await environment.start("sleep 300")
        assert _runs(process)
        await environment.close()
        assert not _runs(process)


def _runs(process: Process) -> bool:
    return process.exit_code is None


class EnvironmentConformance(
    FileConformance, CommandConformance, SessionConformance, BackgroundConformance
):
    """All of it. Give `make`."""
