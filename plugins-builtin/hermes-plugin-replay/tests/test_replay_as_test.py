"""`hermes replay --as-test`: the test that is written passes, and fails when a tool changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_plugins import user_message
from hermes_plugins.testing import (
    Command,
    Ended,
    FakeApprover,
    HostFactory,
    ScriptedServer,
    replies,
)

SECRET = "sk-test-not-a-real-key-1234567890"

TOOL = """
from hermes_plugins import ToolContext, Writes, hookimpl, tool

@tool(toolset="shout", effects=[Writes(arg="path")])
async def shout(context: ToolContext, path: str, text: str, end: str = "!") -> str:
    "Write it large."
    {body}
    return "Shouted."

@hookimpl
def hermes_register_tools():
    return [shout]
"""
LARGE = "await context.environment.write(path, (text.upper() + end).encode())"


@pytest.fixture
def shouting(tmp_path: Path, hermes_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stranger's plugin, installed and switched on; its module, to be changed."""
    site = tmp_path / "site"
    info = site / "hermes_plugin_shout-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hermes-plugin-shout\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[hermes.tools]\nshout = hermes_plugin_shout\n")
    module = site / "hermes_plugin_shout.py"
    module.write_text(TOOL.format(body=LARGE), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.syspath_prepend(str(site))
    hermes_home.mkdir(exist_ok=True)
    (hermes_home / "hermes.yaml").write_text("plugins: {enabled: [shout]}\n", "utf-8")
    return module


async def talk(
    hermes: HostFactory,
    server: ScriptedServer,
    *messages: str,
    toolsets: tuple[str, ...] = ("file", "terminal"),
    **options: object,
) -> str:
    options.setdefault("approver", FakeApprover(*["once"] * 9))
    async with hermes(server=server, toolsets=toolsets, **options) as host:
        for message in messages or ("Go.",):
            await host.ask(message)
        await host.watched()
        return (await host.session()).info.id


def passed(file: Path) -> Ended:
    """Run the file as its user would: pytest, and nothing of this repository's settings."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", file.name],
        cwd=file.parent,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return Ended(status=done.returncode, stdout=done.stdout, stderr=done.stderr)


def written(command: Command, session: str, *words: str) -> tuple[Path, Ended]:
    """The test of a session, with what the command told."""
    folder = command.folder / "tests"
    folder.mkdir(exist_ok=True)
    file = folder / "test_it.py"
    ended = command.run("replay", session, "--as-test", str(file), *words)
    assert ended.status == 0, ended.err
    compile(file.read_bytes(), str(file), "exec")
    return file, ended


async def test_the_test_of_a_session_passes_at_once_and_reads_like_one(
    hermes: HostFactory, model_server: ScriptedServer, command: Command, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "notes.txt").write_text("Buy milk.\n", "utf-8")
    model_server.script(
        replies.call("read_file", {"path": "notes.txt"}),
        replies.call("write_file", {"path": f"{workspace}/todo.md", "content": "- milk\n"}),
        replies.say("Milk."),
        replies.call("terminal", {"command": "mkdir done && mv todo.md done/"}),
        replies.say("Moved."),
    )
    session = await talk(hermes, model_server, "What do I have to do?", "Move it.")
    file, ended = written(command, session, "--with", "notes.txt")
    assert ended.out == (
        f"Wrote {file}: 2 messages, 3 calls, 2 files in the end. Run it: pytest {file}\n"
    )
    assert "Not as in the session" not in ended.err
    assert file.read_text("utf-8") == EXPECTED.format(session=session)
    done = passed(file)
    assert (done.status, "1 passed" in done.out) == (0, True), done.out


EXPECTED = '''\
"""A session as a test: "What do I have to do?".

Written by `hermes replay {session} --as-test`; change it as you like.
"""

from pathlib import Path

from hermes_plugins.testing import Replay, replies


def test_what_do_i_have_to_do(tmp_path: Path) -> None:
    with Replay(tmp_path) as replay:
        replay.start("file", "terminal", files={{"notes.txt": "Buy milk.\\n"}})
        replay.said(
            "What do I have to do?",
            replies.call("read_file", {{"path": "notes.txt"}}),
            replies.call(
                "write_file",
                {{"path": f"{{replay.workspace}}/todo.md", "content": "- milk\\n"}},
            ),
            replies.say("Milk."),
        )
        replay.said(
            "Move it.",
            replies.call("terminal", {{"command": "mkdir done && mv todo.md done/"}}),
            replies.say("Moved."),
            answers=("once",),
        )
        assert replay.calls == [
            ("read_file", {{"path": "notes.txt"}}, "ok"),
            ("write_file", {{"path": f"{{replay.workspace}}/todo.md", "content": "- milk\\n"}}, "ok"),
            ("terminal", {{"command": "mkdir done && mv todo.md done/"}}, "ok"),
        ]
        assert replay.tree == {{
            "done/todo.md": "- milk\\n",
            "notes.txt": "Buy milk.\\n",
        }}
'''


@pytest.mark.parametrize(
    ("body", "fails"),
    [
        (LARGE, ""),
        (LARGE.replace("upper", "title"), "'a.txt': 'Hi!'"),
        (LARGE.replace("path, ", "path + '.txt', "), "a.txt.txt"),
        ("raise ValueError('no voice')", "'failed'"),
    ],
    ids=["the same", "another content", "another file", "an error"],
)
async def test_it_fails_when_the_tool_does_something_else(
    hermes: HostFactory,
    model_server: ScriptedServer,
    command: Command,
    shouting: Path,
    body: str,
    fails: str,
) -> None:
    model_server.script(
        replies.call("shout", {"path": "a.txt", "text": "hi"}), replies.say("Shouted.")
    )
    session = await talk(hermes, model_server, toolsets=("shout",))
    file, ended = written(command, session)
    assert "Not as in the session" not in ended.err
    assert 'replay.start("shout", plugins=("shout",))' in file.read_text("utf-8")
    shouting.write_text(TOOL.format(body=body), encoding="utf-8")
    done = passed(file)
    assert done.status == (1 if fails else 0), done.out
    assert fails in done.out.replace('"', "'")


async def test_times_and_process_ids_are_the_same_every_time(
    hermes: HostFactory, model_server: ScriptedServer, command: Command
) -> None:
    command_ = "date > a; date -u +%Y-%m-%dT%H:%M:%SZ > b; echo pid $$ in $(pwd) > c"
    model_server.script(replies.call("terminal", {"command": command_}), replies.say("Done."))
    session = await talk(hermes, model_server)
    file, _ = written(command, session)
    text = file.read_text("utf-8")
    assert '"a": "<time>\\n"' in text
    assert '"b": "<time>\\n"' in text
    assert '"c": "pid <pid> in <workspace>\\n"' in text
    assert passed(file).status == 0


async def test_what_differs_from_run_to_run_is_left_open_and_said(
    hermes: HostFactory, model_server: ScriptedServer, command: Command
) -> None:
    model_server.script(
        replies.call("terminal", {"command": "date +%N%s > noise; echo 1 > calm"}),
        replies.say("Done."),
    )
    session = await talk(hermes, model_server)
    file, ended = written(command, session)
    assert "Left open, because a second run differed:\n  what is in noise\n" in ended.err
    assert "# left open, because a second run differed: what is in noise" in file.read_text("utf-8")
    assert passed(file).status == 0


async def test_the_answers_of_the_person_are_given_again(
    hermes: HostFactory, model_server: ScriptedServer, command: Command
) -> None:
    model_server.script(
        replies.calls([("terminal", {"command": f"touch {one}"}) for one in "abc"]),
        replies.say("Two of three."),
    )
    approver = FakeApprover("once", "deny", "once")
    session = await talk(hermes, model_server, approver=approver)
    file, ended = written(command, session)
    assert "Not as in the session" not in ended.err
    text = file.read_text("utf-8")
    assert 'answers=("once", "deny", "once")' in text
    assert '"blocked"' in text
    assert '"b"' not in text.partition("replay.tree")[2]
    assert passed(file).status == 0


async def test_what_was_said_meanwhile_and_asked_by_tools_is_there_too(
    hermes: HostFactory, model_server: ScriptedServer, command: Command
) -> None:
    model_server.script(
        replies.call("clarify", {"question": "Which colour?"}),
        replies.call("write_file", {"path": "colour", "content": "blue"}),
        replies.say("Blue."),
    )
    approver = FakeApprover(words=("blue",))
    async with hermes(server=model_server, toolsets=("file", "clarify"), approver=approver) as host:
        session = await host.session()
        async with session.run("Paint it.") as run:
            async for event in run:
                if type(event).__name__ == "ToolStarted" and event.tool == "write_file":
                    run.steer("And quickly.")
    file, ended = written(command, session.info.id)
    text = file.read_text("utf-8")
    assert 'words=("blue",)' in text
    assert 'steered={2: "And quickly."}' in text
    assert "Not as in the session" not in ended.err
    assert passed(file).status == 0


async def test_what_reaches_out_of_the_folder_is_refused_reported_and_remarked(
    hermes: HostFactory, model_server: ScriptedServer, command: Command, tmp_path: Path
) -> None:
    outside = tmp_path / "precious"
    outside.write_text("mine", "utf-8")
    model_server.script(
        replies.call("terminal", {"command": f"rm {outside}"}),
        replies.call("write_file", {"path": str(tmp_path / "new"), "content": "x"}),
        replies.call("terminal", {"command": "echo in > here; curl -s http://example.org"}),
        replies.say("Done."),
    )
    session = await talk(hermes, model_server)
    outside.write_text("mine again", "utf-8")
    (tmp_path / "new").unlink()
    file, ended = written(command, session)
    assert f"  call 1, terminal: ok in the session, blocked here ({outside} is" in ended.err
    assert f"  call 2, write_file: ok in the session, blocked here ({tmp_path}/new" in ended.err
    assert "call 3, terminal" in ended.err
    assert f"# call 1, terminal: ok in the session, blocked here ({outside} is" in file.read_text()
    assert passed(file).status == 0
    assert outside.read_text("utf-8") == "mine again"
    assert not (tmp_path / "new").exists()


async def test_a_file_that_the_test_would_need_is_named(
    hermes: HostFactory, model_server: ScriptedServer, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "workspace" / "notes.txt").write_text("Buy milk.\n", "utf-8")
    model_server.script(replies.call("read_file", {"path": "notes.txt"}), replies.say("Milk."))
    session = await talk(hermes, model_server)
    file, ended = written(command, session)
    assert "call 1, read_file: ok in the session, failed here" in ended.err
    assert "`--with notes.txt` begins with that file as it is now" in ended.err
    assert passed(file).status == 0


async def test_secrets_do_not_get_into_the_test(
    hermes: HostFactory, model_server: ScriptedServer, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "workspace" / "conf").write_text(f"api_key={SECRET}\n", "utf-8")
    model_server.script(
        replies.call("terminal", {"command": f"echo {SECRET} > k"}), replies.say(f"It is {SECRET}")
    )
    session = await talk(hermes, model_server, f"Take {SECRET}")
    file, ended = written(command, session, "--with", "conf")
    assert "not-a-real" not in file.read_text("utf-8")
    assert "secrets are masked" in ended.err
    assert passed(file).status == 0


async def test_a_turn_without_an_answer_and_an_image_are_told(
    hermes: HostFactory, model_server: ScriptedServer, command: Command
) -> None:
    from hermes_plugins import ImagePart

    model_server.script(replies.fail(400, "broken"), replies.say("Hello."))
    message = user_message("Look.")
    async with hermes(server=model_server, toolsets=("file",)) as host:
        await host.ask("First.")
        parts = (*message.parts, ImagePart(data=b"", media_type="image/png"))
        await host.ask(type(message)(role="user", parts=parts))
        session = (await host.session()).info.id
    file, ended = written(command, session)
    assert "message 1: its end was not recorded" in ended.err
    assert "message 2: what is no text (an image) is left out" in ended.err
    assert passed(file).status == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--with", "../site"], "there is no such file in the session's folder"),
        (["--with", "missing"], "there is no such file in the session's folder"),
        (["--with", "picture"], "is no text."),
        (["--with", "large"], "more than 100 files or 200,000 bytes."),
    ],
)
async def test_a_file_that_cannot_be_given_is_refused_before_anything_is_written(
    hermes: HostFactory,
    model_server: ScriptedServer,
    command: Command,
    tmp_path: Path,
    words: list[str],
    told: str,
) -> None:
    (tmp_path / "workspace" / "picture").write_bytes(b"\xff\xd8\xff")
    (tmp_path / "workspace" / "large").write_text("x" * 200_001, "utf-8")
    model_server.script(replies.say("Hello."))
    session = await talk(hermes, model_server)
    ended = command.run("replay", session, "--as-test", "test_x.py", *words)
    assert ended.status == 2
    assert told in ended.err
    assert not (command.folder / "test_x.py").exists()


async def test_a_file_that_is_there_is_left_alone_and_a_dash_prints(
    hermes: HostFactory, model_server: ScriptedServer, command: Command
) -> None:
    model_server.script(replies.say("Hello."))
    session = await talk(hermes, model_server)
    (command.folder / "test_x.py").write_text("mine", "utf-8")
    ended = command.run("replay", session, "--as-test", "test_x.py")
    assert (ended.status, (command.folder / "test_x.py").read_text()) == (2, "mine")
    assert "is there already" in ended.err
    ended = command.run("replay", session, "--as-test", "-")
    assert ended.status == 0
    assert ended.out.startswith('"""A session as a test: "Go.".')
    assert 'replay.said("Go.", replies.say("Hello."))' in ended.out
