"""The terminal tool, as the model meets it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hermes_plugin_terminal import Settings, hermes_register_config, hermes_register_tools, terminal
from hermes_plugin_terminal.local import LocalEnvironment

from hermes_core.clock import SystemClock
from hermes_plugins import Section, ToolError, ToolResult, resolve_effects
from hermes_plugins.testing import FakeContext, FakeHost

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a POSIX shell")


def context_on(tmp_path: Path, *, section: Section | None = None) -> FakeContext:
    folder = tmp_path / "work"
    folder.mkdir()
    host = FakeHost(tmp_path / "home", clock=SystemClock(), section=section)
    return FakeContext(folder, environment=LocalEnvironment(host, str(folder)), host=host)


@pytest.fixture
def context(tmp_path: Path) -> FakeContext:
    return context_on(tmp_path)


async def call(context: FakeContext, command: str, **arguments: object) -> ToolResult:
    answer = terminal.handler(context, command, **arguments)
    assert not isinstance(answer, str | ToolResult)
    result = await answer  # type: ignore[misc]
    assert isinstance(result, ToolResult)
    return result


async def test_output_is_the_answer(context: FakeContext) -> None:
    result = await call(context, "echo one; echo two >&2")
    assert (result.text, result.status) == ("one\ntwo", "ok")
    assert (await call(context, "true")).text == "(no output)"


async def test_folder_and_exports_carry_over_within_the_session(context: FakeContext) -> None:
    await call(context, "mkdir sub; cd sub; export X=1")
    assert (await call(context, 'pwd; echo "$X"')).text == f"{context.workspace}/sub\n1"
    assert (await call(context, "pwd", workdir="/")).text == "/"
    context.session_id = "20260101_000000_ffffff"
    assert (await call(context, 'pwd; echo "$X"')).text == f"{context.workspace}"


@pytest.mark.parametrize(
    ("command", "last", "status"),
    [
        ("echo x; exit 3", "[exit 3]", "ok"),
        ("printf x; exit 3", "[exit 3]", "ok"),
        ("grep nothing /dev/null", "[exit 1: no match]", "ok"),
        ("cat /dev/null | LC_ALL=C /bin/grep nothing", "[exit 1: no match]", "ok"),
        ("grep nothing /dev/null | (exit 1)", "[exit 1]", "ok"),
        ("echo a >a; echo b >b; diff -q a b", "[exit 1: they differ]", "ok"),
        ("if true; then test 1 = 2; fi", "[exit 1: false]", "ok"),
        ("no-such-program", "[exit 127: command not found]", "failed"),
        ("/", "[exit 126: not executable]", "failed"),
    ],
)
async def test_the_last_line_says_how_it_ended(
    context: FakeContext, command: str, last: str, status: str
) -> None:
    result = await call(context, command)
    assert result.text.splitlines()[-1] == last
    assert result.status == status
    assert result.meta["exit_code"] not in (0, None)


async def test_a_timeout_keeps_the_output_and_is_said(context: FakeContext) -> None:
    result = await call(context, "echo begun; sleep 300", timeout=0.5)
    assert result.text == "begun\n[timed out after 0.5 s; killed]"
    assert (result.status, result.kind) == ("failed", "transient")


async def test_the_configured_timeout_counts_when_the_call_says_none(tmp_path: Path) -> None:
    context = context_on(tmp_path, section=Settings(timeout=0.25, max_timeout=1))
    assert "[timed out after 0.25 s; killed]" in (await call(context, "sleep 300")).text
    with pytest.raises(ToolError, match=r"at most 1 s .* background=true"):
        await call(context, "sleep 300", timeout=2)
    with pytest.raises(ToolError, match="above 0"):
        await call(context, "sleep 300", timeout=0)


async def test_an_interrupt_kills_the_command_and_keeps_its_output(context: FakeContext) -> None:
    os.mkfifo(Path(context.workspace, "pipe"))
    running = asyncio.ensure_future(call(context, "echo begun; echo x >pipe; sleep 300"))
    await context.environment.exec("cat pipe", timeout=20)
    context.cancelled.set()
    result = await running
    assert (result.text, result.status) == ("begun\n[interrupted]", "interrupted")


@pytest.mark.parametrize(
    "command",
    [
        "python3 -m http.server &",
        "(sleep 1; echo x) & ",
        "nohup python3 -m http.server",
        "cd x && /usr/bin/nohup y >log 2>&1",
        "X=1 setsid server",
        "server & disown",
        "while true; do nohup x; done",
    ],
)
async def test_leaving_something_behind_is_refused_with_advice(
    context: FakeContext, command: str
) -> None:
    with pytest.raises(ToolError, match="background=true"):
        await call(context, command)


@pytest.mark.parametrize(
    "command",
    [
        "sleep 0 & wait",
        "true && true",
        "echo nohup; echo '&'",
        'echo "a &"',
        r"echo a \&",
        "echo x >out 2>&1",
        "cat >run.sh <<'EOF'\nnohup server &\nit's\nEOF",
        "man nohup 2>/dev/null; echo x | grep -c '&' || true",
    ],
)
async def test_what_only_looks_like_it_runs(context: FakeContext, command: str) -> None:
    assert (await call(context, command)).status == "ok"


async def test_an_empty_command_is_refused(context: FakeContext) -> None:
    for arguments in ({}, {"background": True}):
        with pytest.raises(ToolError, match="empty"):
            await call(context, " \n", **arguments)


async def test_escapes_and_control_characters_are_taken_out(context: FakeContext) -> None:
    line = (
        r"printf '\033[1;31mred\033[0m \033]0;title\007\033]8;;http://x\033\\link\033]8;;\033\\"
        r"\033(B\0338 a\000b\bc\r\nnext\rover\tend'"
    )
    assert (await call(context, line)).text == "red link abc\nnext\nover\tend"


async def test_output_is_cut_to_the_smaller_of_setting_and_window(tmp_path: Path) -> None:
    context = context_on(tmp_path, section=Settings(output_chars=3000))
    assert 2500 < len((await call(context, "yes | head -n 5000")).text) <= 3000
    context.result_chars = 2000
    assert 1500 < len((await call(context, "yes | head -n 5000")).text) <= 2000


async def test_the_background_returns_at_once_with_an_id(context: FakeContext) -> None:
    await call(context, "mkdir sub; cd sub; export X=1")
    result = await call(context, 'pwd; echo "$X"; cat &', background=True)
    (process,) = context.environment.processes()
    assert result.text == f"Started p1 (pid {process.pid})."
    assert result.meta == {"process": "p1", "pid": process.pid}
    await process.close_input()
    assert await process.wait() == 0
    assert process.output()[0] == f"{context.workspace}/sub\n1\n"


def test_the_command_is_what_the_gate_judges() -> None:
    assert resolve_effects(terminal.effects, {"command": "rm -rf x"}).runs == ("rm -rf x",)
    assert resolve_effects(terminal.effects, {}).unknown
    assert terminal.aliases == ("bash", "shell")
    assert terminal.timeout < 0


def test_both_schemas_together_stay_small() -> None:
    described = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in hermes_register_tools()
    ]
    assert len(json.dumps(described, separators=(",", ":"))) <= 1300


def test_the_section_is_called_like_the_plugin_and_takes_the_kernels_values() -> None:
    (section,) = hermes_register_config()
    assert (section.name, section.schema) == ("terminal", Settings)
    assert section.inherits == {"timeout": "terminal.timeout", "shell": "terminal.shell"}


def test_the_entry_module_brings_nothing_heavy() -> None:
    script = (
        "import sys, hermes_plugins, msgspec, inspect; import hermes_plugin_terminal;"
        "print(sorted({'subprocess', 'shlex', 'shutil', 'tempfile', 'asyncio', 'unicodedata',"
        "'select', 'hermes_core'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
