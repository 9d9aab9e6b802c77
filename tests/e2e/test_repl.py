"""The REPL in a real terminal (tmux), as a person uses it."""

from __future__ import annotations

import itertools
import os
import shutil
import stat
import threading
from collections.abc import Iterator

import pytest

from hermes_plugins.testing import ScriptedServer, replies
from hermes_plugins.testing._command import Command
from hermes_plugins.testing._terminal import Terminal

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")

READY = "approvals manual"
IDLE = "15 tokens · approvals manual"
"""The status line after a turn; while one runs its calls stand in between."""
_numbers = itertools.count()


@pytest.fixture
def terminal(command: Command) -> Iterator[Terminal]:
    terminal = Terminal(command, f"hermes-repl-{os.getpid()}-{next(_numbers)}")
    yield terminal
    terminal.close()


def opened(command: Command, terminal: Terminal, server: ScriptedServer, **how: object) -> None:
    command.talks_to(server)
    terminal.start(**how)  # type: ignore[arg-type]
    terminal.wait_for(READY)


ANSWER = """# Plan

Some **bold** text.

- one
- two
  - nested

```python
x = 1
```

| a | b |
|---|---|
| 1 | 2 |
"""


def test_an_answer_is_drawn_and_stays_in_the_scrollback(
    command: Command, terminal: Terminal
) -> None:
    with ScriptedServer([replies.say(ANSWER, split=5)]) as server:
        opened(command, terminal, server)
        terminal.type("make a plan")
        screen = terminal.wait_for(" 1  2")
        coloured = terminal.screen(colours=True)
    assert screen.startswith(
        "Hermes with custom/scripted. /help lists the commands.\n"
        "\n> make a plan\n\nPlan\n\nSome bold text.\n\n • one\n • two\n    • nested\n"
        "\n  x = 1\n\n a  b\n ────\n 1  2\n"
    )
    assert "\x1b[1mbold" in coloured


def test_a_long_answer_is_whole_and_in_order(command: Command, terminal: Terminal) -> None:
    text = "".join(f"- item {number}\n" for number in range(300)) + "\nThe end."
    with ScriptedServer([replies.say(text, split=11)]) as server:
        opened(command, terminal, server, rows=20)
        terminal.type("go")
        terminal.wait_for("The end.")
        lines = terminal.screen(history=True).split("\n")
    assert [line for line in lines if "item" in line] == [f" • item {n}" for n in range(300)]


def test_a_tool_call_is_a_line_with_its_argument_and_outcome(
    command: Command, terminal: Terminal
) -> None:
    script = [
        replies.call("terminal", {"command": "sleep 1; echo from-the-tool"}),
        replies.say("Done."),
    ]
    with ScriptedServer(script) as server:
        opened(command, terminal, server, rows=40)
        terminal.type("go")
        terminal.wait_for("terminal sleep 1; echo from-the-tool  0.")
        running = terminal.screen()
        terminal.wait_for("Done.")
        screen = terminal.screen()
        assert "✓ terminal sleep 1; echo from-the-tool  1." in screen
        assert "✓" not in running
        assert "call 1 of 90" in running
        terminal.press("C-o")
        terminal.wait_for("\nterminal sleep 1; echo from-the-tool\nfrom-the-tool")


def test_a_change_of_a_file_is_shown_as_a_diff_in_colour(
    command: Command, terminal: Terminal
) -> None:
    (command.folder / "a.txt").write_text("one\ntwo\n")
    edit = {"path": "a.txt", "old_string": "two", "new_string": "three"}
    script = [
        replies.call("read_file", {"path": "a.txt"}),
        replies.call("patch", edit),
        replies.say("Done."),
    ]
    with ScriptedServer(script) as server:
        opened(command, terminal, server)
        terminal.type("go")
        screen = terminal.wait_for("Done.")
        coloured = terminal.screen(colours=True)
    assert screen.index("✓ patch a.txt") < screen.index("-two") < screen.index("+three")
    assert "\x1b[31m-two" in coloured
    assert "\x1b[32m+three" in coloured


def test_verbose_shows_results_whole(command: Command, terminal: Terminal) -> None:
    script = [replies.call("terminal", {"command": "seq 3"}), replies.say("Done.")]
    with ScriptedServer(script) as server:
        opened(command, terminal, server)
        terminal.type("/verbose")
        terminal.wait_for("Results of tools are shown whole.")
        terminal.type("go")
        screen = terminal.wait_for("Done.")
    assert "    1\n    2\n    3\n" in screen


def test_what_is_typed_while_it_works_is_queued_and_passed_on(
    command: Command, terminal: Terminal
) -> None:
    script = [replies.call("terminal", {"command": "sleep 2"}), replies.say("Done.")]
    with ScriptedServer(script) as server:
        opened(command, terminal, server)
        terminal.type("go")
        terminal.wait_for("terminal sleep 2")
        terminal.type("be quick")
        terminal.wait_for("⧗ be quick (queued)")
        screen = terminal.wait_for("Done.")
        sent = server.requests[1].messages[-1]
    assert sent == {"role": "user", "content": "be quick"}
    assert "\n> be quick\n" in screen
    assert "queued" not in screen


def test_a_message_that_came_too_late_is_answered_next(
    command: Command, terminal: Terminal
) -> None:
    release = threading.Event()
    script = [replies.hold(replies.say("First."), release, after=1), replies.say("Second.")]
    with ScriptedServer(script) as server:
        opened(command, terminal, server)
        terminal.type("one")
        terminal.wait_for("working")
        terminal.type("two")
        terminal.wait_for("⧗ two (queued)")
        release.set()
        screen = terminal.wait_for("Second.")
    assert screen.index("First.") < screen.index("> two") < screen.index("Second.")


@pytest.mark.parametrize(("key", "said"), [("C-c", "Ctrl-C"), ("Escape", "Esc")])
def test_a_key_interrupts_and_it_goes_on(
    command: Command, terminal: Terminal, key: str, said: str
) -> None:
    script = [replies.call("terminal", {"command": "sleep 100"}), replies.say("Here again.")]
    with ScriptedServer(script) as server:
        opened(command, terminal, server)
        terminal.type("go")
        terminal.wait_for("terminal sleep 100")
        terminal.press(key)
        terminal.wait_for(f"Interrupted: you pressed {said}.")
        terminal.type("still there?")
        terminal.wait_for("Here again.")


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


# -- the gate --------------------------------------------------------------------------

LONG = "rm -r " + " ".join(f"build/part{number}" for number in range(12)) + " last"


def test_an_approval_shows_the_whole_command_and_takes_a_reason(
    command: Command, terminal: Terminal
) -> None:
    for name in "abc":
        (command.folder / name).write_text("x")
    script = [
        replies.call("terminal", {"command": LONG}, id="call_0"),
        replies.call("terminal", {"command": "rm a"}, id="call_1"),
        replies.call("terminal", {"command": "rm b"}, id="call_2"),
        replies.say("Done."),
    ]
    with ScriptedServer(script) as server:
        opened(command, terminal, server)
        terminal.type("clean up")
        terminal.wait_for("Allow it?")
        screen = terminal.wait_for("It asks because")
        assert LONG.replace(" ", "") in "".join(screen.split())
        terminal.type("keep the last one")
        terminal.wait_for("rm a")
        terminal.type("y")
        terminal.wait_for("rm b")
        terminal.type("/deny")
        screen = terminal.wait_for("Done.")
        first = str(server.requests[1].messages[-1])
    assert "Their reason: keep the last one" in first
    assert "✗ terminal was not run: you said no: keep the last one" in screen
    assert "✓ terminal rm a" in screen
    assert not (command.folder / "a").exists()
    assert (command.folder / "b").exists()


def test_what_was_being_typed_is_no_answer_and_comes_back(
    command: Command, terminal: Terminal
) -> None:
    (command.folder / "a").write_text("x")
    release = threading.Event()
    ask = replies.call("terminal", {"command": "rm a"})
    with ScriptedServer([replies.hold(ask, release), replies.say("Left alone.")]) as server:
        opened(command, terminal, server)
        terminal.type("go")
        server.wait_for_requests(1)
        terminal.tmux("send-keys", "-l", "y")
        terminal.wait_for("> y")
        release.set()
        terminal.wait_for("say why not:")
        terminal.press("Enter")  # an empty line is no answer
        terminal.type("n")
        terminal.wait_for("Left alone.")
        terminal.wait_for("> y")
    assert (command.folder / "a").exists()


def test_a_choice_of_a_tool_is_picked_by_its_number(command: Command, terminal: Terminal) -> None:
    question = replies.call("clarify", {"question": "Which one?", "choices": ["red", "blue"]})
    with ScriptedServer([question, replies.say("Blue it is.")]) as server:
        opened(command, terminal, server)
        terminal.type("choose")
        terminal.wait_for("Which one?\n  1. red\n  2. blue\n")
        terminal.type("2")
        terminal.wait_for("Blue it is.")
        assert "blue" in str(server.requests[1].messages[-1]["content"])


def test_yolo_is_shown_in_the_status_line(command: Command, terminal: Terminal) -> None:
    with ScriptedServer() as server:
        opened(command, terminal, server)
        terminal.type("/yolo")
        terminal.wait_for("· approvals off")


# -- the input -------------------------------------------------------------------------


def test_several_lines_are_one_message(command: Command, terminal: Terminal) -> None:
    with ScriptedServer([replies.say("ok.")]) as server:
        opened(command, terminal, server)
        terminal.tmux("send-keys", "-l", "first")
        terminal.press("C-j")
        terminal.tmux("send-keys", "-l", "second")
        terminal.press("M-Enter")
        terminal.type("third")
        terminal.wait_for("ok.")
        assert server.requests[0].messages[-1]["content"] == "first\nsecond\nthird"


def test_a_long_paste_is_a_mark_in_the_input_and_sent_whole(
    command: Command, terminal: Terminal
) -> None:
    text = "\n".join(f"line {number}" for number in range(50))
    with ScriptedServer([replies.say("ok.")]) as server:
        opened(command, terminal, server)
        terminal.tmux("send-keys", "-l", "see: ")
        terminal.paste(text)
        terminal.wait_for("> see: [pasted text 1: 50 lines]")
        terminal.press("Enter")
        terminal.wait_for("ok.")
        assert server.requests[0].messages[-1]["content"] == f"see: {text}"


def test_a_file_that_is_named_with_an_at_comes_along(command: Command, terminal: Terminal) -> None:
    (command.folder / "note.txt").write_text("buy milk")
    with ScriptedServer([replies.say("ok.")]) as server:
        opened(command, terminal, server)
        terminal.tmux("send-keys", "-l", "read @no")
        terminal.wait_for("@note.txt")
        terminal.press("Tab")
        terminal.wait_for("> read @note.txt")
        terminal.press("Enter")
        terminal.wait_for("with note.txt, 8 characters")
        terminal.wait_for("ok.")
        sent = server.requests[0].messages[-1]["content"]
    assert sent == 'read @note.txt\n\n<file path="note.txt">\nbuy milk\n</file>'


def test_commands_models_and_sessions_are_completed(command: Command, terminal: Terminal) -> None:
    with ScriptedServer(then=replies.say("ok")) as server:
        command.talks_to(server)
        command.run("-q", "the first question")
        opened(command, terminal, server)
        terminal.tmux("send-keys", "-l", "/und")
        terminal.wait_for("/undo  Take the last question")
        terminal.press("C-c")
        terminal.tmux("send-keys", "-l", "/model off")
        terminal.wait_for("offline/")
        terminal.press("C-c")
        terminal.tmux("send-keys", "-l", "/resume first")
        terminal.wait_for("the first question")


def test_a_mistyped_command_suggests(command: Command, terminal: Terminal) -> None:
    with ScriptedServer() as server:
        opened(command, terminal, server)
        terminal.type("/modle")
        terminal.wait_for("There is no command /modle. Did you mean /model?")


def test_the_history_is_there_in_the_next_session_and_private(
    command: Command, terminal: Terminal
) -> None:
    with ScriptedServer(then=replies.say("ok.")) as server:
        opened(command, terminal, server)
        terminal.type("remember the milk")
        terminal.wait_for("ok.")
        terminal.press("C-d")
        terminal.wait_for("ended with 0")
        second = Terminal(command, f"hermes-repl-{os.getpid()}-second")
        try:
            opened(command, second, server)
            second.press("Up")
            second.wait_for("> remember the milk")
        finally:
            second.close()
    mode = (command.home / "repl_history").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_undo_and_retry_in_place(command: Command, terminal: Terminal) -> None:
    with ScriptedServer([replies.say("One."), replies.say("Two.")]) as server:
        opened(command, terminal, server)
        terminal.type("count")
        terminal.wait_for(IDLE)
        terminal.type("/retry")
        terminal.wait_for("Two.")
        terminal.wait_for(IDLE)
        asked = [one["content"] for one in server.requests[1].messages if one["role"] != "system"]
        terminal.type("/undo")
        terminal.wait_for("Taken back: 'count'.")
    assert asked == ["count"]


def test_edit_takes_the_message_from_the_editor(command: Command, terminal: Terminal) -> None:
    editor = command.folder / "editor.sh"
    editor.write_text('#!/bin/sh\nprintf "from the editor" >> "$1"\n')
    editor.chmod(0o755)
    with ScriptedServer([replies.say("ok.")]) as server:
        opened(command, terminal, server, environ={"EDITOR": str(editor), "VISUAL": ""})
        terminal.type("/edit words ")
        terminal.wait_for("ok.")
        assert server.requests[0].messages[-1]["content"] == "wordsfrom the editor"


# -- the terminal ----------------------------------------------------------------------


def test_a_narrow_terminal_and_a_resize(command: Command, terminal: Terminal) -> None:
    with ScriptedServer(then=replies.say("word " * 30 + "end.")) as server:
        command.talks_to(server)
        terminal.start(columns=30, rows=20)
        terminal.wait_for("custom/scripted")
        terminal.type("go")
        screen = terminal.wait_for("end.")
        assert max(map(len, screen.split("\n"))) <= 30
        terminal.resize(100, 30)
        terminal.type("again")
        terminal.wait_for("word " * 15 + "word")


def test_no_color_has_no_colours(command: Command, terminal: Terminal) -> None:
    with ScriptedServer([replies.say("# Plan\n\n```python\nx = 1\n```\n\nend.")]) as server:
        opened(command, terminal, server, environ={"NO_COLOR": "1"})
        terminal.type("go")
        terminal.wait_for("end.")
        coloured = terminal.screen(colours=True)
    import re

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
        terminal.wait_for("Ctrl-D leaves, /help helps.")


def test_a_shell_that_is_not_there_is_one_line_and_the_plain_face(
    command: Command, terminal: Terminal
) -> None:
    with ScriptedServer() as server:
        command.talks_to(server)
        terminal.start("--tui")
        screen = terminal.wait_for("Ctrl-D leaves, /help helps.")
    assert "no installed plugin offers this shell" in screen
    assert "This is the plain face." in screen


def test_the_usual_shell_may_be_off_without_a_word(command: Command, terminal: Terminal) -> None:
    with ScriptedServer() as server:
        command.talks_to(server)
        command.run("plugins", "disable", "repl")
        terminal.start()
        screen = terminal.wait_for("Ctrl-D leaves, /help helps.")
    assert "repl" not in screen


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
        modes = terminal.tmux(
            "display-message", "-p", "#{mouse_any_flag}#{cursor_flag}#{keypad_cursor_flag}"
        )
        terminal.type("echoed")
        terminal.wait_for("echoed\nechoed")  # by the terminal, and by cat
    assert modes.strip() == "010"


def test_a_crash_leaves_the_terminal_sane(command: Command, terminal: Terminal) -> None:
    source = (
        "from hermes_plugin_repl.showing import Shown\n"
        "from hermes_plugins import hookimpl\n"
        "@hookimpl\nasync def hermes_on_stop(): pass\n"
        "def broken(self, event):\n    raise RuntimeError('a fault of ours')\n"
        "Shown.show = broken\n"
    )
    environ = command.with_modules(breaking=source)
    with ScriptedServer([replies.say("Hello.")]) as server:
        command.talks_to(server)
        terminal.start("--plugin", "breaking", environ=environ)
        terminal.wait_for(READY)
        terminal.type("hi")
        screen = terminal.wait_for("ended with 1")
        terminal.type("echoed")
        terminal.wait_for("echoed\nechoed")
    assert "internal error: RuntimeError: a fault of ours" in screen
    assert "Traceback" not in screen
