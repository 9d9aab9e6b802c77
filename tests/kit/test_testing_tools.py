"""The suite for tool sets catches what it is there to catch, and what stands beside it works."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from hermes_plugins import (
    Effects,
    Json,
    Pure,
    Reads,
    Runs,
    Tool,
    ToolContext,
    Writes,
    resolve_effects,
    tool,
)
from hermes_plugins.testing import (
    FakeContext,
    FolderEnvironment,
    RealClock,
    RecordingEnvironment,
    ToolSetConformance,
    Touch,
    a_call,
    call_tool,
    undeclared,
)


@tool(toolset="sample", effects=[Reads(arg="path")], label="path")
async def peek(context: ToolContext, path: str) -> str:
    """Read a file, and a second one on the sly."""
    environment = context.environment
    return ((await environment.read(path)) + (await environment.read("secret.txt"))).decode()


@tool(toolset="sample", effects=[Writes(arg="path")])
async def save(context: ToolContext, path: str) -> str:
    """Write a file."""
    await context.environment.write(path, b"x")
    return "ok"


@tool(toolset="sample", effects=[Pure()])
def plain(context: ToolContext, path: str) -> str:
    """Read a file from a plain handler, although it says it touches nothing."""
    return context.run(context.environment.read(path)).decode()


class Suite(ToolSetConformance):
    calls: ClassVar[Mapping[str, Sequence[Mapping[str, Json]]]] = {
        "peek": [{"path": "open.txt"}],
        "plain": [{"path": "open.txt"}],
        "save": [{"path": "new/file.txt"}],
    }

    def prepare(self, folder: Path) -> None:
        for name in ("open.txt", "secret.txt"):
            (folder / name).write_text(name, encoding="utf-8")


@pytest.mark.parametrize("sly", [peek, plain])
async def test_a_touch_that_was_not_declared_fails(sly: Tool, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="touched what it did not say") as error:
        await Suite().test_calls_touch_only_what_they_declare([sly], tmp_path)
    assert ("secret.txt" in str(error.value)) is (sly is peek)


async def test_a_tool_that_keeps_its_word_passes(tmp_path: Path) -> None:
    await Suite().test_calls_touch_only_what_they_declare([save], tmp_path)
    assert (tmp_path / "save-0/new/file.txt").read_bytes() == b"x"


def test_every_tool_needs_a_sample_and_a_plain_name() -> None:
    with pytest.raises(AssertionError):
        ToolSetConformance().test_every_tool_has_a_sample_call([peek])
    with pytest.raises(AssertionError):
        Suite().test_names_are_plain_and_different([peek, peek])


async def test_the_recorder_notes_resolved_paths_and_passes_everything_on(tmp_path: Path) -> None:
    environment = RecordingEnvironment(FolderEnvironment(tmp_path))
    await environment.write("./a.txt", b"1")
    assert await environment.read("a.txt") == b"1"
    assert await environment.list(".") == ["a.txt"]
    assert (await environment.stat("a.txt")).size == 1
    result = await environment.exec([sys.executable, "-c", "print('hi')"])
    await environment.remove("a.txt")
    assert result.output.strip() == "hi"
    base = environment.workspace
    path = environment.resolve("a.txt")
    assert environment.touches == [
        Touch("write", path),
        Touch("read", path),
        Touch("list", base),
        Touch("stat", path),
        Touch("exec", f"{sys.executable} -c print('hi')", sys.executable),
        Touch("write", path),
    ]


@pytest.mark.parametrize(
    ("touch", "covered"),
    [
        (("read", "in/a.txt"), True),
        (("list", "in"), True),
        (("stat", "."), True),
        (("list", "."), True),
        (("read", "out/a.txt"), True),
        (("write", "out/a.txt"), True),
        (("write", "out/deep/b.txt"), True),
        (("write", "in/a.txt"), False),
        (("read", "other.txt"), False),
        (("stat", "other.txt"), False),
        (("read", "inside.txt"), False),
        (("exec", "make test"), True),
        (("exec", "make install"), False),
    ],
)
def test_effects_cover_what_they_name(
    touch: tuple[str, str], covered: bool, tmp_path: Path
) -> None:
    environment = FolderEnvironment(tmp_path)
    effects = resolve_effects([Reads(path="in"), Writes(path="out"), Runs(command="make test")], {})
    kind, target = touch
    noted = Touch(
        kind,  # type: ignore[arg-type]
        target if kind == "exec" else environment.resolve(target),
    )
    assert (undeclared(effects, [noted], environment) == []) is covered


def test_a_helper_program_is_free_only_as_an_argument_list(tmp_path: Path) -> None:
    environment = FolderEnvironment(tmp_path)
    effects = resolve_effects([Reads(path=".")], {})
    touches = [Touch("exec", "rg x", "rg"), Touch("exec", "rg x; rm -r .")]
    assert undeclared(effects, touches, environment, programs=("rg",)) == ["exec rg x; rm -r ."]


async def test_a_handler_is_called_with_its_own_copy_of_the_arguments(tmp_path: Path) -> None:
    @tool(toolset="sample", effects=[Pure()])
    def spoil(items: list[str]) -> str:
        """Change its arguments."""
        items.clear()
        return "done"

    arguments: dict[str, Json] = {"items": ["a"]}
    assert await call_tool(spoil, arguments, FakeContext(tmp_path)) == "done"
    assert arguments == {"items": ["a"]}


ENTRY = """
from hermes_plugins import Host, Pure, Tool, hookimpl, tool
{imports}

@tool(toolset="sample", effects=[Pure()])
async def nothing() -> str:
    "Do nothing."
    return "ok"

@hookimpl
def hermes_register_tools() -> list[Tool]:
    return [nothing]
"""


@pytest.mark.parametrize(
    ("imports", "words"),
    [
        ("", ""),
        ("from pathlib import Path", ""),
        ("import email.parser", "cheap_entry -> email.parser"),
        ("import http.client", "cheap_entry -> http.client -> email"),
        ("import httpx", "cheap_entry -> httpx"),
    ],
)
def test_an_entry_module_may_import_the_kit_and_is_told_what_is_heavy(
    imports: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cheap_entry.py").write_text(ENTRY.format(imports=imports), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    class Cheap(ToolSetConformance):
        module = "cheap_entry"

    if not words:
        Cheap().test_the_entry_module_is_cheap()
        return
    with pytest.raises(AssertionError, match="import this inside a function, on use") as error:
        Cheap().test_the_entry_module_is_cheap()
    assert words in str(error.value)


async def test_a_real_clock_does_wait() -> None:
    clock = RealClock()
    start = clock.monotonic()
    await clock.sleep(0.01)
    with pytest.raises(TimeoutError):
        async with clock.timeout(0.01):
            await asyncio.Event().wait()
    assert clock.monotonic() - start >= 0.02
    assert clock.now() > 1_790_000_000


def test_a_call_that_says_nothing_touches_nothing() -> None:
    call = a_call(tool="roll", arguments={"sides": 6})
    assert (call.tool, call.arguments, call.effects) == ("roll", {"sides": 6}, Effects())
    assert call.effects.only_reads
