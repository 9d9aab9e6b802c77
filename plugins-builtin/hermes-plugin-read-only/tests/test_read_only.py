"""The policy's answers for every kind of effect."""

from __future__ import annotations

from pathlib import Path

import pytest
from hermes_plugin_read_only import ReadOnly, hermes_before_tool_call, hermes_register_config

from hermes_plugins import Allow, CallView, Decision, Deny, Effects
from hermes_plugins.testing import FakeHost


def view(effects: Effects) -> CallView:
    return CallView(
        id="call-1",
        tool="some_tool",
        toolset="some",
        arguments={},
        effects=effects,
        session="s",
        turn="t",
        workspace="/w",
        face="cli",
    )


async def judge(tmp_path: Path, effects: Effects, *globs: str) -> Decision:
    host = FakeHost(tmp_path, plugin="read-only", section=ReadOnly(allow_commands=globs))
    return await hermes_before_tool_call(host, view(effects))


@pytest.mark.parametrize(
    "effects",
    [Effects(), Effects(reads=("/w/a",)), Effects(fetches=("https://x.test/",))],
    ids=["pure", "reads", "fetches"],
)
async def test_what_only_reads_may_run(tmp_path: Path, effects: Effects) -> None:
    assert await judge(tmp_path, effects) == Allow()


@pytest.mark.parametrize(
    ("effects", "words"),
    [
        (Effects(writes=("/w/a",)), "would change /w/a"),
        (Effects(runs=("make",)), "would run make"),
        (Effects(sends=("a@x.test",)), "would send to a@x.test"),
        (Effects(unknown=True), "would do something it does not declare"),
        (Effects(reads=("/w/a",), writes=("/w/b",)), "would change /w/b"),
    ],
)
async def test_everything_else_is_denied_with_what_it_would_have_done(
    tmp_path: Path, effects: Effects, words: str
) -> None:
    answer = await judge(tmp_path, effects)
    assert isinstance(answer, Deny)
    assert "this session is read-only" in answer.reason
    assert words in answer.reason
    assert "Do not look for another way" in answer.reason


async def test_a_command_that_the_settings_name_may_run(tmp_path: Path) -> None:
    globs = ("git log*", "git status")
    assert await judge(tmp_path, Effects(runs=("git log -3",)), *globs) == Allow()
    assert await judge(tmp_path, Effects(runs=(" git status ",)), *globs) == Allow()
    assert isinstance(await judge(tmp_path, Effects(runs=("git push",)), *globs), Deny)
    assert isinstance(await judge(tmp_path, Effects(runs=("GIT STATUS",)), *globs), Deny)


@pytest.mark.parametrize(
    "command",
    [
        "git log; rm -rf .",
        "git log && rm a",
        "git log | sh",
        "git log > a",
        "git log $(rm a)",
        "git log `rm a`",
        "git log\nrm a",
    ],
)
async def test_a_glob_never_covers_a_second_command(tmp_path: Path, command: str) -> None:
    assert isinstance(await judge(tmp_path, Effects(runs=(command,)), "git log*"), Deny)


async def test_every_command_of_a_call_must_be_named(tmp_path: Path) -> None:
    both = Effects(runs=("git log", "make"))
    assert isinstance(await judge(tmp_path, both, "git log"), Deny)


async def test_a_named_command_excuses_no_other_effect(tmp_path: Path) -> None:
    for effects in (
        Effects(runs=("git log",), writes=("/w/a",)),
        Effects(runs=("git log",), sends=("x",)),
        Effects(runs=("git log",), unknown=True),
    ):
        assert isinstance(await judge(tmp_path, effects, "*"), Deny)


def test_nothing_is_allowed_by_default() -> None:
    (section,) = hermes_register_config()
    assert (section.name, section.schema()) == ("read-only", ReadOnly(allow_commands=()))
