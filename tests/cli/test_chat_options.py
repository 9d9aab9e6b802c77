"""The options of ``hermes chat``, the names of commands, and the help."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click
import pytest

from hermes_core.cli.app import hermes as group
from hermes_core.cli.app import with_chat
from hermes_plugins import MessageDone, TurnEnded
from hermes_plugins.testing import ScriptedServer, replies
from hermes_plugins.testing._command import Command

TOOLS = '''
from hermes_plugins import Pure, hookimpl, tool

@tool(toolset="mine", effects=[Pure()])
def double(number: int) -> str:
    """Twice the number."""
    return str(number * 2)

@hookimpl
def hermes_register_tools():
    return [double]
'''


def tools_of(server: ScriptedServer) -> set[str]:
    listed = server.requests[0].json["tools"]
    assert isinstance(listed, list)
    return {tool["function"]["name"] for tool in listed}


def test_toolsets_limits_the_tools(command: Command) -> None:
    with ScriptedServer([replies.say("ok")]) as server:
        command.talks_to(server)
        assert command.run("-q", "hi", "--toolsets", "todo, file").status == 0
        assert {"todo", "read_file"} <= tools_of(server)
        assert "terminal" not in tools_of(server)


def test_a_tool_outside_the_toolsets_is_refused(command: Command) -> None:
    script = [replies.call("terminal", {"command": "echo hi"}), replies.say("no")]
    with ScriptedServer(script) as server:
        command.talks_to(server)
        ended = command.run("-q", "hi", "-t", "todo", "--json")
    results = [one.message for one in ended.events if isinstance(one, MessageDone)]
    assert "There is no tool 'terminal' here." in results[2].text
    assert results[2].status == "failed"


def test_max_turns_ends_the_turn_with_one_last_call(command: Command) -> None:
    script = [*[replies.call("todo", {})] * 2, replies.say("so far")]
    with ScriptedServer(script) as server:
        command.talks_to(server)
        ended = command.run("-q", "hi", "--max-turns", "2")
        assert len(server.requests) == 3
    assert (ended.status, ended.out) == (1, "so far\n")
    assert ended.err == (
        "hermes: The limit of 2 model calls is reached.\n        Say `go on` to continue.\n"
    )


@pytest.mark.parametrize("yolo", [False, True])
def test_yolo_runs_what_would_be_asked_about(command: Command, yolo: bool) -> None:
    (command.folder / "gone").write_text("x")
    script = [replies.call("terminal", {"command": "rm gone"}), replies.say("done")]
    with ScriptedServer(script) as server:
        command.talks_to(server)
        ended = command.run("-q", "hi", *(["--yolo"] if yolo else []))
    assert (ended.status, ended.out) == (0, "done\n")
    assert (command.folder / "gone").exists() is not yolo
    if not yolo:
        assert ended.err.startswith("terminal was not run: rm ")
        assert "nobody can be asked here" in ended.err


def test_yolo_does_not_open_the_hard_floor(command: Command) -> None:
    script = [replies.call("terminal", {"command": "rm -rf /"}), replies.say("no")]
    with ScriptedServer(script) as server:
        command.talks_to(server)
        ended = command.run("-q", "hi", "--yolo")
    assert "terminal was not run: never allowed" in ended.err


def test_a_module_given_by_plugin_brings_its_tools(command: Command) -> None:
    script = [replies.call("double", {"number": 21}), replies.say("42")]
    with ScriptedServer(script) as server:
        command.talks_to(server)
        ended = command.run(
            *("-q", "hi", "--plugin", "doubling", "--json"),
            environ=command.with_modules(doubling=TOOLS),
        )
        assert "double" in tools_of(server)
    results = [one.message for one in ended.events if isinstance(one, MessageDone)]
    assert results[2].text == "42"


def test_a_model_given_on_the_command_line_wins(command: Command) -> None:
    with ScriptedServer([replies.say("ok")]) as server:
        command.talks_to(server)
        ended = command.run("-q", "hi", "--model", "other", "--json")
        assert server.requests[0].json["model"] == "other"
    end = ended.events[-1]
    assert isinstance(end, TurnEnded)
    assert end.model == "custom/other"


def test_a_profile_has_a_home_of_its_own(command: Command) -> None:
    with ScriptedServer(then=replies.say("ok")) as server:
        command.talks_to(server)
        assert command.run("-p", "work", "-q", "hi").status == 0
    assert (command.home / "profiles" / "work" / "state.db").exists()
    assert not (command.home / "state.db").exists()


@pytest.mark.parametrize(
    ("words", "read"),
    [
        ([], ["chat"]),
        (["-q", "x"], ["chat", "-q", "x"]),
        (["-p", "a", "-c"], ["-p", "a", "chat", "-c"]),
        (["--profile=a"], ["--profile=a", "chat"]),
        (["-p"], ["-p", "chat"]),
        (["sessions", "list"], ["sessions", "list"]),
        (["--help"], ["--help"]),
        (["-p", "a", "--version"], ["-p", "a", "--version"]),
    ],
)
def test_chat_is_what_is_meant_without_a_command(words: list[str], read: list[str]) -> None:
    assert with_chat(words) == read


def every_command() -> Iterator[str]:
    """The words of every command of the kernel's own."""
    ctx = click.Context(group)

    def below(parent: click.Command, words: str) -> Iterator[str]:
        yield words
        if isinstance(parent, click.Group):
            for name in parent.list_commands(ctx):
                child = parent.get_command(ctx, name)
                assert child is not None
                yield from below(child, f"{words} {name}".strip())

    yield from below(group, "")


def help_of(words: str) -> str:
    found: click.Command = group
    ctx = click.Context(group, info_name="hermes")
    for word in words.split():
        assert isinstance(found, click.Group)
        child = found.get_command(ctx, word)
        assert child is not None
        found, ctx = child, click.Context(child, parent=ctx, info_name=word)
    return found.get_help(ctx)


@pytest.mark.usefixtures("hermes_home")
def test_every_command_has_an_example_and_says_what_it_does() -> None:
    for words in filter(None, every_command()):
        _, _, example = help_of(words).partition("Example")
        assert f"hermes {words}" in example, f"`hermes {words} --help` has no example of it"


@pytest.mark.parametrize("words", ["", "chat", "sessions", "sessions list"])
def test_help_goes_to_stdout(command: Command, words: str) -> None:
    ended = command.run(*words.split(), "--help")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith(f"Usage: hermes {words}".rstrip())


@pytest.mark.parametrize("words", ["--help", "--version", "chat --help", "sessions --help"])
def test_help_imports_nothing_that_only_a_turn_needs(command: Command, words: str) -> None:
    script = (
        "import sys\nfrom hermes_core.cli.main import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'httpx', 'hermes_core.runtime', 'stevedore'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    program = (sys.executable, "-c", script)
    command.run(*words.split(), program=program)  # the table of plugins is cached then
    ended = command.run(*words.split(), program=program)
    assert ended.err == "[]\n"
