"""`hermes tools` and `hermes skills`, as they are called."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
import pytest

from hermes_plugins.testing import Command, ScriptedServer
from hermes_plugins.testing.replies import say


def offered(command: Command) -> set[str]:
    """Names of the tools that a new session is really given."""
    with ScriptedServer([say("Hello.")]) as server:
        command.talks_to(server)
        ended = command.run("--cli", "-q", "hi")
    assert ended.status == 0, ended.err
    tools = server.requests[0].json.get("tools", [])
    assert isinstance(tools, list)
    return {str(one["function"]["name"]) for one in tools}


def listed(command: Command, face: str = "cli") -> dict[str, tuple[bool, str]]:
    ended = command.run("tools", "list", "--face", face, "--json")
    assert ended.status == 0, ended.err
    told = msgspec.json.decode(ended.stdout)
    return {one["name"]: (one["on"], one["why_off"]) for one in told["toolsets"]}


def test_the_list_has_every_toolset_with_its_tools(command: Command) -> None:
    out = command.run("tools").out
    assert out.startswith("Toolsets on cli:\n")
    assert "  [x] file      read_file, write_file, patch, search_files\n" in out
    assert "Other faces with a list: " in out


def test_a_face_without_a_list_gets_that_of_cli(command: Command) -> None:
    out = command.run("tools", "list", "--face", "irc").out
    assert out.startswith("Toolsets on irc, which has no list of its own and gets that of cli:")
    assert listed(command, "irc") == listed(command)


def test_what_is_disabled_is_not_offered_and_comes_back(command: Command) -> None:
    ended = command.run("tools", "disable", "terminal")
    assert ended.status == 0, ended.err
    assert ended.out.startswith("terminal is off for cli, from the next session on (")
    assert listed(command)["terminal"] == (False, "not in toolsets.by_face.cli")
    assert "terminal" not in offered(command)
    assert command.run("tools", "disable", "terminal").out == "terminal is off for cli already.\n"
    assert command.run("tools", "enable", "terminal").status == 0
    assert "terminal" in offered(command)


def test_a_face_is_switched_alone(command: Command) -> None:
    assert command.run("tools", "disable", "terminal", "--face", "irc").status == 0
    assert not listed(command, "irc")["terminal"][0]
    assert listed(command)["terminal"][0]


def test_the_last_toolset_of_a_face_leaves_it_with_none_and_not_with_those_of_cli(
    command: Command,
) -> None:
    assert command.run("config", "set", "toolsets.by_face.cli", '["file"]').status == 0
    assert command.run("tools", "disable", "file").status == 0
    assert offered(command) == set()


def test_a_toolset_of_a_stranger_is_on_everywhere_and_can_be_left_out(command: Command) -> None:
    site = command.folder.parent / "site"
    info = site / "hermes_plugin_hello-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: hermes-plugin-hello\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text("[hermes.tools]\nhello = hermes_plugin_hello\n")
    (site / "hermes_plugin_hello.py").write_text(
        "from hermes_plugins import Pure, hookimpl, tool\n"
        "@tool(toolset='hello', effects=[Pure()])\n"
        "async def greet() -> str:\n    'Greet.'\n    return 'hello'\n"
        "@hookimpl\ndef hermes_register_tools():\n    return [greet]\n"
    )
    os.environ["PYTHONPATH"] = str(site)
    try:
        assert listed(command)["hello"] == (
            False,
            "its plugin is found but off; `hermes plugins enable hello`",
        )
        refused = command.run("tools", "enable", "hello")
        assert refused.status == 2
        assert "`hermes plugins enable hello` first." in refused.err
        assert command.run("plugins", "enable", "hello").status == 0
        assert listed(command)["hello"] == (True, "")
        assert "greet" in offered(command)
        assert command.run("tools", "disable", "hello").status == 0
        assert not listed(command)["hello"][0]
        assert "greet" not in offered(command)
        assert command.run("tools", "enable", "hello").status == 0
        assert "greet" in offered(command)
    finally:
        del os.environ["PYTHONPATH"]


def test_a_plugin_that_is_off_is_told_with_its_command(command: Command) -> None:
    assert command.run("plugins", "disable", "todo").status == 0
    out = command.run("tools").out
    assert "[-] todo      its plugin todo is disabled; `hermes plugins enable todo`" in out


def test_a_tool_that_the_settings_leave_out_is_told(command: Command) -> None:
    assert command.run("config", "set", "tools.blocked", '["patch"]').status == 0
    assert "patch is off: tools.allowed and tools.blocked leave it out" in command.run("tools").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("disable", "termnal"), "Did you mean terminal?"),
        (
            ("disable", "read_file"),
            "It is a tool of file; tools.blocked can leave out a single one.",
        ),
        (("enable", "moon-landing"), "`hermes tools list` shows them."),
        (("list", "--face", "A b"), "Such as cli, api-server, irc or cron."),
    ],
)
def test_a_name_that_is_none_is_refused_with_what_is_meant(
    command: Command, words: tuple[str, ...], said: str
) -> None:
    ended = command.run("tools", *words)
    assert ended.status == 2
    assert said in ended.err


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX's")
def test_at_a_terminal_numbers_switch(command: Command) -> None:
    import pty

    leader, follower = pty.openpty()
    process = command.start("tools", stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    seen = b""
    for answer in (b"2\n", b"99\n", b"\n"):
        seen += _until(leader, b"Enter to leave: ")
        os.write(leader, answer)
    assert process.wait(60) == 0
    seen += _until(leader, b"")
    os.close(leader)
    told = seen.decode()
    assert "file is off for cli" in told
    assert "  2 [ ] file" in told
    assert "'99' is none of 1 to 5." in told
    assert not listed(command)["file"][0]


def _until(leader: int, end: bytes) -> bytes:
    seen = b""
    while not seen.endswith(end) or not end:
        try:
            seen += (more := os.read(leader, 4096))
        except OSError:
            break
        if not more:
            break
    return seen


# -- skills ----------------------------------------------------------------------------


def pack(home: Path, place: str, text: str) -> None:
    folder = home / "skills" / place
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text, encoding="utf-8")


def test_without_skills_it_says_where_they_go(command: Command) -> None:
    out = command.run("skills").out
    assert out == (
        f"No skills yet. A skill is a folder with a SKILL.md, put into {command.home / 'skills'}.\n"
    )


def test_skills_are_listed_by_their_front_matter(command: Command) -> None:
    pack(
        command.home,
        "notes",
        "---\nname: release-notes\ndescription: >\n  Writes\n  notes.\n---\n#\n",
    )
    pack(command.home, "dev/review", "---\nname: review\ndescription: 'Looks: twice'\n---\n")
    pack(command.home, "odd", "# no front matter\n")
    ended = command.run("skills")
    assert ended.status == 0
    assert "  [ ] release-notes  Writes notes.\n" in ended.out
    assert "  [ ] review         Looks: twice\n" in ended.out
    assert "it does not begin with front matter" in ended.out
    assert "Hermes does not load skills by itself yet" in ended.out


def test_a_skill_is_put_into_the_settings_and_out_again(command: Command) -> None:
    pack(command.home, "notes", "---\nname: notes\ndescription: Notes.\n---\n")
    assert "notes is in skills.names now." in command.run("skills", "enable", "notes").out
    (told,) = msgspec.json.decode(command.run("skills", "list", "--json").stdout)["skills"]
    assert told["on"] is True
    assert command.run("skills", "enable", "notes").out == "notes is in skills.names already.\n"
    assert command.run("skills", "disable", "notes").out == "notes is out of skills.names now.\n"
    assert "  [ ] notes" in command.run("skills").out


def test_a_skill_that_is_not_there_is_refused(command: Command) -> None:
    pack(command.home, "notes", "---\nname: notes\ndescription: Notes.\n---\n")
    ended = command.run("skills", "enable", "note")
    assert ended.status == 2
    assert "there is no skill 'note'." in ended.err
    assert "Did you mean notes?" in ended.err
