"""The plain face in a real terminal (tmux), as a person uses it."""

from __future__ import annotations

import os
import shutil
import threading

import pytest

from hermes_plugins.testing import ScriptedServer, replies
from hermes_plugins.testing._command import SECONDS, Command
from hermes_plugins.testing._terminal import Terminal

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")

PROMPT = "\n>"


def test_a_conversation(command: Command, terminal: Terminal) -> None:
    (command.folder / "note.txt").write_text("hello")
    script = [
        replies.say("Good evening.", split=3),
        replies.calls([("read_file", {"path": "note.txt"})], text="Let me look."),
        replies.say("It says **hello**."),
    ]
    with ScriptedServer(script) as server:
        command.talks_to(server)
        terminal.start("--cli")
        terminal.wait_for(PROMPT)
        terminal.type("hi")
        terminal.wait_for(PROMPT, times=2)
        terminal.type("what is in the note?")
        screen = terminal.wait_for(PROMPT, times=3)
        terminal.press("C-d")
        end = terminal.wait_for("ended with 0")
    assert screen == (
        "Hermes with custom/scripted. Ctrl-C interrupts, Ctrl-D leaves, /help helps.\n"
        "\n> hi\n\nGood evening.\n"
        "\n> what is in the note?\n\nLet me look.\n· read_file note.txt\n\nIt says **hello**.\n\n>"
    )
    assert "`hermes -c` goes on with it." in end


def test_leaving_at_once_keeps_no_session(command: Command, terminal: Terminal) -> None:
    with ScriptedServer() as server:
        command.talks_to(server)
        terminal.start("--cli")
        terminal.wait_for(PROMPT)
        terminal.press("C-d")
        terminal.wait_for("ended with 0")
    assert command.run("sessions", "list").out == "No session yet. `hermes` starts one.\n"


def test_ctrl_c_twice_at_the_prompt_leaves(command: Command, terminal: Terminal) -> None:
    with ScriptedServer([replies.say("Still here.")]) as server:
        command.talks_to(server)
        terminal.start("--cli")
        terminal.wait_for(PROMPT)
        terminal.press("C-c")
        terminal.wait_for("(Ctrl-C once more leaves)")
        terminal.type("are you there?")  # a word in between, and it is not the second one
        terminal.wait_for(f"Still here.\n{PROMPT}")
        terminal.press("C-c")
        terminal.wait_for("(Ctrl-C once more leaves)", times=2)
        terminal.press("C-c")
        screen = terminal.wait_for("ended with 130")
    assert "Traceback" not in screen


def test_ctrl_c_while_it_works_interrupts_and_goes_on(command: Command, terminal: Terminal) -> None:
    script = [replies.call("terminal", {"command": "sleep 100"}), replies.say("Here again.")]
    with ScriptedServer(script) as server:
        command.talks_to(server)
        terminal.start("--cli")
        terminal.wait_for(PROMPT)
        terminal.type("sleep")
        terminal.wait_for("· terminal sleep 100")
        terminal.press("C-c")
        screen = terminal.wait_for(PROMPT, times=2)
        terminal.type("go on")
        terminal.wait_for("Here again.")
    assert "· terminal sleep 100\n^C  interrupted\nInterrupted: you pressed Ctrl-C.\n" in screen


LONG = "rm -r " + " ".join(f"build/part{number}" for number in range(12)) + " last"


def ask_to(line: str, identifier: str) -> replies.Reply:
    return replies.call("terminal", {"command": line}, id=identifier)


def test_an_approval_is_asked_with_the_whole_command(command: Command, terminal: Terminal) -> None:
    for name in ("a", "b", "c"):
        (command.folder / name).write_text("x")
    script = [
        ask_to(LONG, "call_0"),
        ask_to("rm a", "call_1"),
        ask_to("rm a", "call_2"),
        replies.say("First part done."),
        ask_to("rm b", "call_3"),
        replies.say("Second part done."),
    ]
    with ScriptedServer(script) as server:
        command.talks_to(server)
        terminal.start("--cli")
        terminal.wait_for(PROMPT)
        terminal.type("clean up")
        screen = terminal.wait_for("Allow it?")
        flat = "".join(
            line.strip(" ") if line.startswith("    ") else line for line in screen.split("\n")
        )
        assert LONG.replace(" ", "") in flat.replace(" ", "")
        assert "It asks because rm " in screen
        terminal.type("keep the last one")
        terminal.wait_for("Allow it?", times=2)
        terminal.type("s")
        terminal.wait_for("First part done.")
        terminal.type("and b")
        terminal.wait_for("Allow it?", times=3)
        terminal.type("n")
        screen = terminal.wait_for("Second part done.")
        requests = [request.messages[-1]["content"] for request in server.requests]
    assert screen.count("Allow it?") == 3, "what was allowed for the session was asked again"
    assert "Their reason: keep the last one" in str(requests[1])
    assert "No such file" in str(requests[3]), "the same command ran a second time, unasked"
    assert "the person said no." in str(requests[5])
    assert not (command.folder / "a").exists()
    assert (command.folder / "b").exists()
    assert "· terminal was not run: you said no: keep the last one" in screen


def test_always_is_kept_for_the_next_session(command: Command, terminal: Terminal) -> None:
    script = [ask_to("touch -d yesterday a", "call_1"), replies.say("Done.")]
    with ScriptedServer(script) as server:
        command.talks_to(server)
        terminal.start("--cli")
        terminal.wait_for(PROMPT)
        terminal.type("go")
        terminal.wait_for("[a] always")
        terminal.type("a")
        terminal.wait_for("Done.")
        terminal.press("C-d")
        terminal.wait_for("ended with 0")
        (command.folder / "a").unlink()
        server.script(*script)
        ended = command.run("-q", "again")
    assert (ended.out, ended.err) == ("Done.\n", "")
    assert (command.folder / "a").exists()


def test_ctrl_c_is_an_answer_to_an_approval(command: Command, terminal: Terminal) -> None:
    (command.folder / "a").write_text("x")
    with ScriptedServer([ask_to("rm a", "call_1"), replies.say("As you like.")]) as server:
        command.talks_to(server)
        terminal.start("--cli")
        terminal.wait_for(PROMPT)
        terminal.type("go")
        terminal.wait_for("Allow it?")
        terminal.press("C-c")
        terminal.wait_for(PROMPT, times=2)
        terminal.type("y")  # a message by now, and no late answer
        terminal.wait_for("As you like.")
        assert server.requests[1].messages[-1] == {"role": "user", "content": "y"}
    assert (command.folder / "a").exists()


def test_what_was_typed_before_a_question_is_no_answer_to_it(
    command: Command, terminal: Terminal
) -> None:
    (command.folder / "a").write_text("x")
    release = threading.Event()
    script = [replies.hold(ask_to("rm a", "call_1"), release), replies.say("Left alone.")]
    with ScriptedServer(script) as server:
        command.talks_to(server)
        terminal.start("--cli")
        terminal.wait_for(PROMPT)
        terminal.type("go")
        server.wait_for_requests(1)
        terminal.type("y")
        terminal.wait_for("\ny")
        release.set()
        terminal.wait_for("Allow it?")
        terminal.type("n")
        terminal.wait_for("Left alone.")
    assert (command.folder / "a").exists()


def test_a_choice_of_a_tool_is_picked_by_its_number(command: Command, terminal: Terminal) -> None:
    question = replies.call("clarify", {"question": "Which one?", "choices": ["red", "blue"]})
    with ScriptedServer([question, replies.say("Blue it is.")]) as server:
        command.talks_to(server)
        terminal.start("--cli")
        terminal.wait_for(PROMPT)
        terminal.type("choose")
        screen = terminal.wait_for("Your answer:")
        terminal.type("2")
        terminal.wait_for("Blue it is.")
        assert "blue" in str(server.requests[1].messages[-1]["content"])
    assert "Which one?\n  1. red\n  2. blue\nYour answer:" in screen


def test_a_resumed_conversation_says_which_one_it_is(command: Command, terminal: Terminal) -> None:
    with ScriptedServer(then=replies.say("ok")) as server:
        command.talks_to(server)
        command.run("-q", "the first question")
        terminal.start("--cli", "-c")
        screen = terminal.wait_for(PROMPT)
    assert "Going on with 'the first question' (1 question so far)." in screen


def test_a_terminal_that_is_closed_ends_what_runs_in_it(
    command: Command, terminal: Terminal
) -> None:
    pids = command.folder / "pid"
    script = [replies.call("terminal", {"command": f"echo $$ > {pids}; sleep 100"})]
    with ScriptedServer(script) as server:
        command.talks_to(server)
        terminal.start("--cli", "--yolo")
        terminal.wait_for(PROMPT)
        terminal.type("go")
        terminal.wait_for("· terminal")
        for _ in range(SECONDS * 20):
            if pids.exists() and pids.read_text().strip():
                break
            threading.Event().wait(0.05)
        pid = int(pids.read_text())
        terminal.close()
        for _ in range(SECONDS * 20):
            if not _alive(pid):
                break
            threading.Event().wait(0.05)
        assert not _alive(pid)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
