"""The REPL and the terminal around it; each test starts its own. The list stands in test_repl.py."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_plugins.testing import ScriptedServer, replies
from hermes_plugins.testing._command import Command
from hermes_plugins.testing._terminal import Terminal

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")

READY = "approvals manual"
PLAIN = "Ctrl-D leaves, /help helps."
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def opened(command: Command, terminal: Terminal, server: ScriptedServer, **how: object) -> None:
    command.talks_to(server)
    terminal.start(**how)  # type: ignore[arg-type]
    terminal.wait_for(READY)


def configure(command: Command, text: str) -> None:
    command.home.mkdir(exist_ok=True)
    (command.home / "hermes.yaml").write_text(text, encoding="utf-8")


# -- settings of the display -----------------------------------------------------------


def test_what_the_model_thinks_is_shown_only_when_wanted(
    command: Command, terminal: Terminal
) -> None:
    configure(command, "display: {show_reasoning: true}\n")
    release = threading.Event()
    thinking = replies.think("First this.\nThen **that**.", "The answer.", split=3)
    script = [replies.hold(thinking, release, after=3), thinking]
    with ScriptedServer(script) as server:
        opened(command, terminal, server)
        terminal.type("why?")
        terminal.wait_for("thinking")
        release.set()
        screen = terminal.wait_for("The answer.")
        coloured = terminal.screen(colours=True)
        assert "\n> why?\n\n  First this.\n  Then **that**.\n\nThe answer.\n" in screen
        assert re.search(r"\x1b\[(0;)?3\S*m *First this", coloured), "not told apart by its style"


def test_tool_lines_and_streaming_can_be_switched_off(command: Command, terminal: Terminal) -> None:
    configure(command, "display: {streaming: false, tool_progress: 'off'}\n")
    release = threading.Event()
    script = [
        replies.call("terminal", {"command": "sleep 0.5"}),
        replies.hold(replies.say("It is done.\n\nYes.", split=3), release, after=3),
    ]
    with ScriptedServer(script) as server:
        opened(command, terminal, server)
        terminal.type("go")
        server.wait_for_requests(2)
        terminal.wait_for("call 2 of 90")
        held = terminal.wait_for("working")
        release.set()
        screen = terminal.wait_for("It is done.\n\nYes.\n")
    assert "It is" not in held
    assert "terminal sleep" not in held
    assert "sleep" not in screen


def test_the_status_line_tells_model_context_cost_budget_and_mode(
    command: Command, terminal: Terminal
) -> None:
    configure(command, "model: {context_length: 32000}\nagent: {max_turns: 7}\n")
    usage = {"prompt_tokens": 8000, "completion_tokens": 100, "cost": 0.25}
    script = [
        replies.call("terminal", {"command": "sleep 0.7"}),
        replies.say("Done.", usage=usage),
    ]
    with ScriptedServer(script) as server:
        opened(command, terminal, server)
        terminal.type("go")
        terminal.wait_for("· call 1 of 7 · approvals manual · Esc interrupts")
        terminal.wait_for("Done.")
        terminal.wait_for(
            "custom/scripted · 8,100 of 32k tokens (25%) · $0.2500 · approvals manual"
        )


def test_a_skin_changes_the_colours(command: Command, terminal: Terminal) -> None:
    configure(command, "display: {skin: ember}\n")
    with ScriptedServer([replies.say("# Plan\n\nend.")]) as server:
        opened(command, terminal, server, environ={"TERM": "screen-256color", "COLORTERM": ""})
        terminal.type("go")
        terminal.wait_for("end.")
        coloured = terminal.screen(colours=True)
    assert re.search(r"38;5;208m(\x1b\[49m)?Plan", coloured)


def test_a_skin_of_the_home_is_used_and_a_broken_one_is_told(
    command: Command, terminal: Terminal, terminals: Callable[[], Terminal]
) -> None:
    configure(command, "display: {skin: mine}\n")
    skins = command.home / "skins"
    skins.mkdir()
    (skins / "mine.toml").write_text('heading = "magenta"\n', encoding="utf-8")
    with ScriptedServer(then=replies.say("# Plan\n\nend.")) as server:
        opened(command, terminal, server, before="true")
        terminal.type("go")
        terminal.wait_for("end.")
        assert re.search(r"\x1b\[35m(\x1b\[49m)?Plan", terminal.screen(colours=True))
        (skins / "mine.toml").write_text('heading = "magneta"\n', encoding="utf-8")
        terminal.press("C-d")
        terminal.wait_for("ended with 0")
        terminal = terminals()
        terminal.start()
        screen = terminal.wait_for(READY)
    assert "mine.toml is not used: heading: 'magneta' is no style." in " ".join(screen.split())


# -- the input -------------------------------------------------------------------------


def test_the_image_in_the_clipboard_is_pasted_with_a_key(
    command: Command, terminal: Terminal
) -> None:
    programs = command.folder / "bin"
    programs.mkdir()
    (command.folder / "clip.png").write_bytes(PNG)
    script = f"#!/bin/sh\ncase \"$*\" in *image/png*) cat '{command.folder}/clip.png';; esac\n"
    (programs / "xclip").write_text(script)
    (programs / "xclip").chmod(0o755)
    with ScriptedServer([replies.say("ok.")]) as server:
        environ = {"DISPLAY": ":9", "PATH": f"{programs}:/usr/bin:/bin", "WAYLAND_DISPLAY": ""}
        opened(command, terminal, server, environ=environ)
        terminal.press("C-v")
        terminal.wait_for("> [image 1: clipboard image]")
        terminal.tmux("send-keys", "-l", "\x1b[200~\x1b[201~")  # a paste of nothing
        terminal.wait_for("[image 2: clipboard image]")
        terminal.type(" what is it?")
        terminal.wait_for("ok.")
        sent = server.requests[0].messages[-1]["content"]
        (command.folder / "clip.png").unlink()
        terminal.press("C-v")
        terminal.wait_for("(There is no image in the clipboard.)")
    assert isinstance(sent, list)
    assert [one["type"] for one in sent] == ["text", "image_url", "image_url"]


def test_the_history_is_there_in_the_next_session_and_private(
    command: Command, terminal: Terminal, terminals: Callable[[], Terminal]
) -> None:
    with ScriptedServer(then=replies.say("ok.")) as server:
        opened(command, terminal, server)
        terminal.paste("remember\nthe\nmilk\nand\nthe\nbread")
        terminal.wait_for("6 lines]")
        terminal.press("Enter")
        terminal.wait_for("ok.")
        terminal.press("C-d")
        terminal.wait_for("ended with 0")
        terminal = terminals()
        opened(command, terminal, server)
        terminal.press("Up")
        terminal.wait_for("> remember\n  the\n  milk\n")
    mode = (command.home / "repl_history").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_a_command_of_a_plugin_is_one_of_them(command: Command, terminal: Terminal) -> None:
    source = (
        "from hermes_plugins import SlashCommand, hookimpl\n"
        "async def greet(context, argument): return f'Hello, {argument}!'\n"
        "@hookimpl\ndef hermes_register_slash_commands():\n"
        "    return [SlashCommand(name='greet', help='Say hello.', run=greet)]\n"
        "@hookimpl\nasync def hermes_on_stop(): pass\n"
    )
    with ScriptedServer() as server:
        command.talks_to(server)
        environ = command.with_modules(greeting=source)
        terminal.start("--plugin", "greeting", environ=environ)
        terminal.wait_for(READY)
        terminal.tmux("send-keys", "-l", "/gre")
        terminal.wait_for("/greet  Say hello")
        terminal.type("et Ada")
        terminal.wait_for("Hello, Ada!")


# -- leaving ---------------------------------------------------------------------------


def test_ctrl_c_twice_leaves_and_a_draft_is_dropped_first(
    command: Command, terminal: Terminal
) -> None:
    with ScriptedServer() as server:
        opened(command, terminal, server)
        terminal.tmux("send-keys", "-l", "a draft")
        terminal.wait_for("> a draft")
        terminal.press("C-c")
        terminal.press("C-c")
        screen = terminal.wait_for("(Ctrl-C once more leaves)")
        assert "a draft" not in screen
        terminal.tmux("send-keys", "-l", "another")
        terminal.wait_for("> another")
        terminal.press("C-c")
        terminal.wait_without("another")
        terminal.press("C-c")
        terminal.wait_for("(Ctrl-C once more leaves)", times=2)
        terminal.press("C-c")
        screen = terminal.wait_for("ended with 130")
    assert "Traceback" not in screen


def test_ctrl_c_twice_leaves_while_a_tool_runs(command: Command, terminal: Terminal) -> None:
    stubborn = "trap '' INT TERM; while :; do sleep 1; done"
    with ScriptedServer([replies.call("terminal", {"command": stubborn})]) as server:
        opened(command, terminal, server)
        terminal.type("go")
        terminal.wait_for("Allow it?")
        terminal.type("y")
        terminal.wait_for("terminal trap")
        terminal.press("C-c")
        terminal.press("C-c")
        screen = terminal.wait_for("ended with 130")
    assert "Traceback" not in screen


def test_ctrl_d_leaves_and_says_how_to_go_on(command: Command, terminal: Terminal) -> None:
    with ScriptedServer([replies.say("Hello.")]) as server:
        opened(command, terminal, server)
        terminal.type("hi")
        terminal.wait_for("Hello.")
        terminal.press("C-d")
        screen = terminal.wait_for("ended with 0")
    assert "`hermes -c` goes on with it." in screen
    assert READY not in screen, "the status line was left behind"


# -- the terminal ----------------------------------------------------------------------


def test_a_narrow_terminal_and_a_resize(command: Command, terminal: Terminal) -> None:
    with ScriptedServer(then=replies.say("word " * 30 + "end.")) as server:
        command.talks_to(server)
        terminal.start(columns=30, rows=20)
        terminal.wait_for(READY)
        terminal.type("go")
        screen = terminal.wait_for("end.")
        assert max(map(len, screen.split("\n"))) <= 30
        assert "scripted · approvals manual" in terminal.wait_for(READY)
        terminal.resize(100, 30)
        terminal.type("again")
        terminal.wait_for("word " * 15 + "word")
        terminal.wait_for("custom/scripted · 15 tokens · approvals manual")


def test_an_approval_in_a_narrow_terminal_shows_all_choices(
    command: Command, terminal: Terminal
) -> None:
    script = [replies.call("terminal", {"command": "rm x"}), replies.say("Well.")]
    with ScriptedServer(script) as server:
        command.talks_to(server)
        terminal.start(columns=40, rows=30)
        terminal.wait_for(READY)
        terminal.type("go")
        screen = " ".join(terminal.wait_for("\nAllow it?").split())
        assert "[y] once [s] for this session [a] always [n] no, or say why not" in screen
        terminal.type("n")
        terminal.wait_for("Well.")


def test_no_color_has_no_colours(command: Command, terminal: Terminal) -> None:
    with ScriptedServer([replies.say("# Plan\n\n```python\nx = 1\n```\n\nend.")]) as server:
        opened(command, terminal, server, environ={"NO_COLOR": "1"})
        terminal.type("go")
        terminal.wait_for("end.")
        coloured = terminal.screen(colours=True)
    codes = {
        code for found in re.findall(r"\x1b\[([\d;]*)m", coloured) for code in found.split(";")
    }
    assert codes & {*map(str, range(30, 38)), *map(str, range(90, 98)), "38"} == set()


@pytest.mark.parametrize(
    "environ", [{"TERM": "dumb"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}]
)
def test_a_poor_terminal_gets_the_plain_face(
    command: Command, terminal: Terminal, environ: dict[str, str]
) -> None:
    with ScriptedServer([replies.say("Hello.")]) as server:
        command.talks_to(server)
        terminal.start(environ=environ)
        terminal.wait_for(PLAIN)


def test_a_killed_one_leaves_a_terminal_that_the_next_one_repairs(
    command: Command, terminal: Terminal
) -> None:
    broken = r"stty raw -echo; printf '\033[?1000h\033[?25l\033[?1h'"
    with ScriptedServer([replies.say("Hello.")]) as server:
        opened(command, terminal, server, before=broken)
        terminal.type("hi")
        terminal.wait_for("Hello.")
        terminal.press("C-d")
        terminal.wait_for("ended with 0")
        assert is_sane(terminal)


def is_sane(terminal: Terminal) -> bool:
    """Mouse off, cursor on, usual cursor keys, and what is typed is echoed, by the line."""
    flags = "#{mouse_any_flag}#{cursor_flag}#{keypad_cursor_flag}"
    modes = terminal.tmux("display-message", "-p", flags).strip()
    terminal.type("echoed")
    terminal.wait_for("echoed\nechoed")  # by the terminal, and by cat
    return modes == "010"


def crashing(command: Command, function: str, where: str) -> dict[str, str]:
    source = (
        f"from hermes_plugin_repl.{where} import {function.partition('.')[0]}\n"
        "from hermes_plugins import hookimpl\n"
        "@hookimpl\nasync def hermes_on_stop(): pass\n"
        "def broken(*arguments, **more):\n    raise RuntimeError('a fault of ours')\n"
        f"{function} = broken\n"
    )
    return command.with_modules(breaking=source)


def test_a_crash_leaves_the_terminal_sane(command: Command, terminal: Terminal) -> None:
    environ = crashing(command, "Shown.show", "showing")
    with ScriptedServer([replies.say("Hello.")]) as server:
        command.talks_to(server)
        terminal.start("--plugin", "breaking", environ=environ)
        terminal.wait_for(READY)
        terminal.type("hi")
        screen = terminal.wait_for("ended with 1")
        assert is_sane(terminal)
    assert "internal error: RuntimeError: a fault of ours" in screen
    assert "Traceback" not in screen


@pytest.mark.parametrize(
    ("function", "where", "key"),
    [("Conversation.show_result", "conversation", "C-o"), ("Shown.queued", "showing", "x")],
    ids=["in a key", "in a redraw"],
)
def test_a_crash_while_drawing_leaves_the_terminal_sane(
    command: Command, terminal: Terminal, function: str, where: str, key: str
) -> None:
    environ = crashing(command, function, where)
    with ScriptedServer([replies.say("Hello.")]) as server:
        command.talks_to(server)
        terminal.start("--plugin", "breaking", environ=environ)
        terminal.press(key)
        screen = terminal.wait_for("ended with 1")
        assert is_sane(terminal)
    assert "internal error: RuntimeError: a fault of ours" in screen
    assert "Traceback" not in screen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_the_terminal_sane(
    command: Command, terminal: Terminal, number: signal.Signals
) -> None:
    with ScriptedServer([replies.say("Hello.")]) as server:
        opened(command, terminal, server, before="echo pid $$")
        pane = terminal.tmux("display-message", "-p", "#{pane_pid}").strip()
        (child,) = Path(f"/proc/{pane}/task/{pane}/children").read_text("utf-8").split()
        os.kill(int(child), number)
        terminal.wait_for(f"ended with {128 + number}")
        assert is_sane(terminal)


def test_it_can_be_suspended_and_comes_back(command: Command, terminal: Terminal) -> None:
    with ScriptedServer([replies.say("Hello.")]) as server:
        command.talks_to(server)
        terminal.start(before="set -m")
        terminal.wait_for(READY)
        terminal.press("C-z")
        terminal.wait_for("ended with 148")  # 128 and SIGTSTP: the shell has the terminal again
        assert is_sane(terminal)


# -- shells ----------------------------------------------------------------------------


def install_shell(command: Command, body: str) -> None:
    """A plugin ``other`` with the shell ``tui``, in the home's folder of plugins."""
    plugins = command.home / "plugins" / "other"
    info = plugins / "hermes_plugin_other-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: hermes-plugin-other\nVersion: 1.0\n", encoding="utf-8"
    )
    entry = "[hermes.shells]\ntui = hermes_plugin_other:Other\n"
    (info / "entry_points.txt").write_text(entry, encoding="utf-8")
    source = f"class Other:\n    def __init__(self, face):\n        self.face = face\n{body}"
    (plugins / "hermes_plugin_other.py").write_text(source, encoding="utf-8")


RUNS = """
    async def run(self, wish):
        session = await self.face.open(wish)
        print("another shell with", session.model)
        await session.close()
        return 7
"""


def test_another_shell_is_picked(
    command: Command, terminal: Terminal, terminals: Callable[[], Terminal]
) -> None:
    install_shell(command, RUNS)
    with ScriptedServer() as server:
        command.talks_to(server)
        configure(command, "plugins: {enabled: [other]}\n")
        terminal.start("--tui")
        screen = terminal.wait_for("ended with 7")
        assert "another shell with custom/scripted" in screen
        terminal = terminals()
        configure(command, "plugins: {enabled: [other]}\ndisplay: {interface: tui}\n")
        terminal.start()
        screen = terminal.wait_for("ended with 7")
    assert "another shell with custom/scripted" in screen


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "        raise RuntimeError('no screen')\n",
            "the shell tui raised RuntimeError: no screen",
        ),
        ("", "the shell tui has no run()."),
    ],
)
def test_a_shell_that_cannot_be_made_is_one_line_and_the_plain_face(
    command: Command, terminal: Terminal, body: str, said: str
) -> None:
    install_shell(command, body)
    configure(command, "plugins: {enabled: [other]}\n")
    with ScriptedServer() as server:
        command.talks_to(server)
        terminal.start("--tui")
        screen = terminal.wait_for(PLAIN)
    assert f"hermes: plugin other: {said}" in screen
    assert "This is the plain face." in screen
    assert "Traceback" not in screen


def test_a_shell_that_is_not_there_is_one_line_and_the_plain_face(
    command: Command, terminal: Terminal
) -> None:
    with ScriptedServer() as server:
        command.talks_to(server)
        terminal.start("--tui")
        screen = terminal.wait_for(PLAIN)
    assert "no installed plugin offers this shell" in screen
    assert "This is the plain face." in screen


def test_the_usual_shell_may_be_off_without_a_word(command: Command, terminal: Terminal) -> None:
    with ScriptedServer() as server:
        command.talks_to(server)
        command.run("plugins", "disable", "repl")
        terminal.start()
        screen = terminal.wait_for(PLAIN)
    assert "repl" not in screen


def test_the_plain_face_can_be_had(
    command: Command, terminal: Terminal, terminals: Callable[[], Terminal]
) -> None:
    with ScriptedServer() as server:
        command.talks_to(server)
        terminal.start("--cli")
        terminal.wait_for(PLAIN)
        terminal = terminals()
        configure(command, "display: {interface: plain}\n")
        terminal.start()
        terminal.wait_for(PLAIN)
