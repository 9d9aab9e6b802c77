"""Paths as they were meant, and output without noise."""

from __future__ import annotations

import pytest
from hermes_plugin_tidy.tidying import tidy_argument, tidy_output

from hermes_plugins import Json, Reads, Runs, Tool, hookimpl, tool
from hermes_plugins.testing import FakeApprover, ScriptedServer, replies


@pytest.mark.parametrize(
    ("name", "value", "tidied"),
    [
        ("path", "a.txt", "a.txt"),
        ("path", ' "a b.txt" ', "a b.txt"),
        ("folder", "`src`", "src"),
        ("path", "'a.txt", "'a.txt"),
        ("path", "file:///tmp/a%20b.txt", "/tmp/a b.txt"),
        ("path", "file://localhost/tmp/a", "/tmp/a"),
        ("path", "file:///C:/Users/a", "C:/Users/a"),
        ("path", "file://elsewhere/share/a", "file://elsewhere/share/a"),
        ("path", "file://", "file://"),
        ("path", "", ""),
        ("path", "''", "''"),
        ("path", 7, 7),
        ("content", '"quoted"', '"quoted"'),
    ],
)
def test_a_path_is_the_one_that_was_meant(name: str, value: Json, tidied: Json) -> None:
    assert tidy_argument(name, value) == tidied


@pytest.mark.parametrize(
    ("text", "tidied"),
    [
        ("plain\ntext\n", "plain\ntext\n"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07here\x1b]8;;http://x\x1b\\link", "herelink"),
        ("10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
        ("a\na\na\n", "a\na\na\n"),
        ("a\na\na\na\nb", "a\n[the line above 4 times in all]\nb"),
        ("a\n\n\n\n\n\nb", "a\n\nb"),
        ("", ""),
    ],
)
def test_output_loses_its_noise_and_nothing_else(text: str, tidied: str) -> None:
    assert tidy_output(text, fold_after=3) == tidied


async def test_calls_and_results_are_tidied_in_a_turn_and_what_is_read_is_not(hermes) -> None:
    seen: list[str] = []
    noise = "\n".join(["same"] * 9)

    class Kit:
        @hookimpl
        def hermes_register_tools(self) -> list[Tool]:
            @tool(toolset="kit", effects=[Runs(arg="path")])
            async def launch(path: str) -> str:
                """Run it."""
                seen.append(path)
                return noise

            @tool(toolset="kit", effects=[Reads(arg="path")])
            async def show(path: str) -> str:
                """Read it."""
                return noise

            return [launch, show]

    script = [
        replies.call("launch", {"path": "`make`"}),
        replies.call("show", {"path": "a"}),
        replies.say("done"),
    ]
    with ScriptedServer(script) as server:
        async with hermes(
            plugins={("hermes.tools", "kit"): Kit()},
            settings={"plugins.enabled": ["tidy"], "plugins.tidy.fold_after": 2},
            server=server,
            approver=FakeApprover("once"),
            toolsets=("kit",),
        ) as host:
            await host.ask("go")
            history = (await host.session()).history
    assert seen == ["make"]
    assert history[2].text == "same\n[the line above 9 times in all]"
    assert history[4].text == noise
