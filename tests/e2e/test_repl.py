"""The REPL in a real terminal (tmux), as a person uses it. What it has to do, and the test of it:

input
    several lines                   test_several_lines_are_one_message
    history across sessions         test_the_history_is_there_in_the_next_session_and_private
    completion of commands,         test_commands_models_providers_and_sessions_are_completed
      models, sessions
    completion of paths, @file      test_a_file_that_is_named_with_an_at_comes_along
    paste of long text              test_a_long_paste_is_a_mark_in_the_input_and_sent_whole
    paste of images                 test_a_pasted_image_is_a_mark_and_a_part_of_the_message
                                    test_the_image_in_the_clipboard_is_pasted_with_a_key
                                    test_an_image_that_is_named_with_an_at_comes_along
    $EDITOR                         test_edit_takes_the_message_from_the_editor
answers
    streaming Markdown              test_an_answer_is_drawn_and_stays_in_the_scrollback
    no re-rendering of the whole    test_a_long_answer_is_whole_and_in_order
                                    test_what_is_drawn_once_is_not_drawn_again
    tool calls as a line            test_a_tool_call_is_a_line_with_its_argument_and_outcome
    expandable                      test_results_are_shown_whole_one_after_the_other
    diffs in colour                 test_a_change_of_a_file_is_shown_as_a_diff_in_colour
    what the model thinks           test_what_the_model_thinks_is_shown_only_when_wanted
    tool_progress, streaming        test_tool_lines_and_streaming_can_be_switched_off
status line
    model, context, cost, budget,   test_the_status_line_tells_model_context_cost_budget_and_mode
      approvals mode                test_yolo_is_shown_in_the_status_line
while it works
    input is steering, queued       test_what_is_typed_while_it_works_is_queued_and_passed_on
    steering with a file            test_a_file_that_is_named_while_it_works_is_passed_on
    too late for this turn          test_a_message_that_came_too_late_is_answered_next
    an image has to wait            test_an_image_that_is_pasted_while_it_works_comes_next
    /queue                          test_queued_messages_are_listed_until_they_are_sent
    Ctrl-C and Esc interrupt        test_a_key_interrupts_and_it_goes_on
    Ctrl-C twice leaves             test_ctrl_c_twice_leaves_while_a_tool_runs
                                    test_ctrl_c_twice_leaves_and_a_draft_is_dropped_first
    Ctrl-D                          test_ctrl_d_leaves_and_says_how_to_go_on
approvals
    in full, deny with a reason     test_an_approval_shows_the_whole_command_and_takes_a_reason
    for the session, always         test_an_approval_for_the_session_asks_once
    a draft is no answer            test_what_was_being_typed_is_no_answer_and_comes_back
    questions of a tool             test_a_choice_of_a_tool_is_picked_by_its_number
slash commands
    every one                       test_every_command_answers
    a mistyped one                  test_a_mistyped_command_suggests
    undo, retry                     test_undo_and_retry_in_place
    those of plugins                test_a_command_of_a_plugin_is_one_of_them
    verbose                         test_verbose_shows_results_whole
the terminal
    resize, narrow                  test_a_narrow_terminal_and_a_resize
                                    test_an_approval_in_a_narrow_terminal_shows_all_choices
    NO_COLOR                        test_no_color_has_no_colours
    dumb, non-UTF-8                 test_a_poor_terminal_gets_the_plain_face
    skins                           test_a_skin_changes_the_colours
                                    test_a_skin_of_the_home_is_used_and_a_broken_one_is_told
    a crash                         test_a_crash_leaves_the_terminal_sane
                                    test_a_crash_while_drawing_leaves_the_terminal_sane
    told to end                     test_a_signal_leaves_the_terminal_sane
    modes left on                   test_a_killed_one_leaves_a_terminal_that_the_next_one_repairs
    Ctrl-Z                          test_it_can_be_suspended_and_comes_back
shells
    --cli                           test_the_plain_face_can_be_had
    --tui, display.interface        test_another_shell_is_picked
    one that is not there           test_a_shell_that_is_not_there_is_one_line_and_the_plain_face
    one that fails                  test_a_shell_that_cannot_be_made_is_one_line_and_the_plain_face
    one that is off                 test_the_usual_shell_may_be_off_without_a_word

The lower half stands in test_repl_terminal.py.
"""

from __future__ import annotations

import base64
import re
import shutil
import threading
from pathlib import Path

import pytest

from hermes_plugins.testing import replies

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")

IDLE = "15 tokens · approvals manual"
"""The status line after a turn; while one runs its calls stand in between."""
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
PNG_PART = {
    "type": "image_url",
    "image_url": {"url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}"},
}


def test_every_behaviour_of_the_list_has_its_test() -> None:
    here = Path(__file__)
    sources = [here.read_text("utf-8"), (here.parent / "test_repl_terminal.py").read_text("utf-8")]
    there = {
        name for text in sources for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)
    }
    listed = set(re.findall(r"test_\w{8,}", (__doc__ or "").replace("test_repl_terminal.py", "")))
    assert listed == there - {"test_every_behaviour_of_the_list_has_its_test"}


# -- answers ---------------------------------------------------------------------------

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


def test_an_answer_is_drawn_and_stays_in_the_scrollback(repl) -> None:
    here = repl(replies.say(ANSWER, split=5))
    here.terminal.type("make a plan")
    here.terminal.wait_for(" 1  2")
    screen = here.terminal.wait_for(IDLE)
    assert screen.startswith(
        "\n> make a plan\n\nPlan\n\nSome bold text.\n\n • one\n • two\n    • nested\n"
        "\n  x = 1\n\n a  b\n ────\n 1  2\n"
    )
    assert "\x1b[1mbold" in here.terminal.screen(colours=True)


def test_a_long_answer_is_whole_and_in_order(repl) -> None:
    text = "".join(f"- item {number}\n" for number in range(300)) + "\nThe end."
    here = repl(replies.say(text, split=11))
    here.terminal.type("go")
    here.terminal.wait_for("The end.")
    lines = here.terminal.screen(history=True).split("\n")
    assert [line for line in lines if "item" in line] == [f" • item {n}" for n in range(300)]


def test_what_is_drawn_once_is_not_drawn_again(repl) -> None:
    """What arrives at the terminal is not much more than the answer, however long that gets."""
    here = repl(replies.say("".join(f"Paragraph {n}.\n\n" for n in range(400)) + "The end."))
    log = here.home / "written"
    here.terminal.tmux("pipe-pane", f"cat > {log}")
    here.terminal.type("go")
    here.terminal.wait_for("The end.")
    here.terminal.tmux("pipe-pane")
    written = log.read_text("utf-8", "replace")
    assert [written.count(f"Paragraph {n}.") for n in (0, 100, 200, 398)] == [1, 1, 1, 1]


def test_a_tool_call_is_a_line_with_its_argument_and_outcome(repl) -> None:
    here = repl(
        replies.call("terminal", {"command": "sleep 1; echo from-the-tool"}),
        replies.call("read_file", {"path": "nowhere.txt"}),
        replies.say("Done."),
    )
    here.terminal.type("go")
    running = here.terminal.wait_for("terminal sleep 1; echo from-the-tool  0.")
    screen = here.terminal.wait_for("Done.")
    assert "✓ terminal sleep 1; echo from-the-tool  1." in screen
    assert "✗ read_file nowhere.txt\n    failed: " in screen
    assert "✓" not in running
    assert "call 1 of 90" in running


def test_results_are_shown_whole_one_after_the_other(repl) -> None:
    here = repl(
        replies.call("terminal", {"command": "echo one; echo two"}),
        replies.call("terminal", {"command": "echo three"}),
        replies.say("Done."),
    )
    here.terminal.type("go")
    here.terminal.wait_for(IDLE)
    assert "\n    three" not in here.terminal.screen()
    here.terminal.press("C-o")
    here.terminal.wait_for("\nterminal echo three\n    three\n(Ctrl-O once more: the call before)")
    here.terminal.press("C-o")
    here.terminal.wait_for("\nterminal echo one; echo two\n    one\n    two\n")


def test_a_change_of_a_file_is_shown_as_a_diff_in_colour(repl) -> None:
    edit = {"path": "a.txt", "old_string": "two", "new_string": "three"}
    here = repl(
        replies.call("read_file", {"path": "a.txt"}),
        replies.call("patch", edit),
        replies.say("Done."),
    )
    (here.folder / "a.txt").write_text("one\ntwo\n")
    here.terminal.type("go")
    screen = here.terminal.wait_for("Done.")
    coloured = here.terminal.screen(colours=True)
    assert screen.index("✓ patch a.txt") < screen.index("-two") < screen.index("+three")
    assert "\x1b[31m-two" in coloured
    assert "\x1b[32m+three" in coloured


def test_verbose_shows_results_whole(repl) -> None:
    here = repl(replies.call("terminal", {"command": "seq 3"}), replies.say("Done."))
    here.terminal.type("/verbose")
    here.terminal.wait_for("Results of tools are shown whole.")
    here.terminal.type("go")
    screen = here.terminal.wait_for("Done.")
    here.terminal.type("/verbose")
    here.terminal.wait_for("Results of tools are hidden.")
    assert "    1\n    2\n    3\n" in screen


# -- while it works --------------------------------------------------------------------


def test_what_is_typed_while_it_works_is_queued_and_passed_on(repl) -> None:
    here = repl(replies.call("terminal", {"command": "sleep 1.5"}), replies.say("Done."))
    here.terminal.type("go")
    here.terminal.wait_for("terminal sleep 1.5")
    here.terminal.type("be quick")
    here.terminal.wait_for("⧗ be quick (queued)")
    screen = here.terminal.wait_for("Done.")
    assert here.server.requests[1].messages[-1] == {"role": "user", "content": "be quick"}
    assert "\n> be quick\n" in screen
    assert "queued" not in screen


def test_a_file_that_is_named_while_it_works_is_passed_on(repl) -> None:
    here = repl(replies.call("terminal", {"command": "sleep 1"}), replies.say("Done."))
    (here.folder / "note.txt").write_text("buy milk")
    here.terminal.type("go")
    here.terminal.wait_for("terminal sleep 1")
    here.terminal.type("see @note.txt")
    here.terminal.wait_for("⧗ see @note.txt (queued)")
    screen = here.terminal.wait_for("Done.")
    assert "buy milk" in str(here.server.requests[1].messages[-1]["content"])
    assert "\n> see @note.txt\n" in screen
    assert "buy milk" not in screen


def test_a_message_that_came_too_late_is_answered_next(repl) -> None:
    release = threading.Event()
    here = repl(replies.hold(replies.say("First."), release, after=1), replies.say("Second."))
    here.terminal.type("one")
    here.terminal.wait_for("working")
    here.terminal.type("two")
    here.terminal.wait_for("⧗ two (queued)")
    release.set()
    screen = here.terminal.wait_for("Second.")
    assert screen.index("First.") < screen.index("> two") < screen.index("Second.")


def test_an_image_that_is_pasted_while_it_works_comes_next(repl) -> None:
    here = repl(replies.call("terminal", {"command": "sleep 1"}), replies.say("First."))
    (here.folder / "cat.png").write_bytes(PNG)
    here.terminal.type("go")
    here.terminal.wait_for("terminal sleep 1")
    here.terminal.type("and @cat.png")
    here.terminal.wait_for("⧗ and @cat.png (queued)")
    here.terminal.wait_for("ok.")
    content = here.server.requests[2].messages[-1]["content"]
    assert content == [{"type": "text", "text": "and @cat.png"}, PNG_PART]


def test_queued_messages_are_listed_until_they_are_sent(repl) -> None:
    release = threading.Event()
    again = threading.Event()
    here = repl(
        replies.hold(replies.say("First."), release, after=1),
        replies.hold(replies.say("Second."), again, after=1),
        replies.say("Third."),
    )
    here.terminal.type("one")
    here.terminal.wait_for("working")
    here.terminal.type("/queue two")
    here.terminal.type("/queue three")
    here.terminal.wait_for("⧗ two (queued)\n⧗ three (queued)")
    release.set()
    here.terminal.wait_for("\n> two\n")
    assert "⧗ three (queued)" in here.terminal.screen(), "what still waits was forgotten"
    again.set()
    screen = here.terminal.wait_for("Third.")
    assert "queued" not in screen


@pytest.mark.parametrize(("key", "said"), [("C-c", "Ctrl-C"), ("Escape", "Esc")])
def test_a_key_interrupts_and_it_goes_on(repl, key: str, said: str) -> None:
    here = repl(replies.call("terminal", {"command": "sleep 100"}), replies.say("Here again."))
    here.terminal.type("go")
    here.terminal.wait_for("terminal sleep 100")
    here.terminal.press(key)
    screen = here.terminal.wait_for(f"Interrupted: you pressed {said}.")
    assert "✗ terminal sleep 100\n    interrupted\n" in screen
    here.terminal.type("still there?")
    here.terminal.wait_for("Here again.")


# -- the gate --------------------------------------------------------------------------

LONG = "rm -r " + " ".join(f"build/part{number}" for number in range(12)) + " last"


def test_an_approval_shows_the_whole_command_and_takes_a_reason(repl) -> None:
    here = repl(
        replies.call("terminal", {"command": LONG}, id="call_0"),
        replies.call("terminal", {"command": "rm a"}, id="call_1"),
        replies.call("terminal", {"command": "rm b"}, id="call_2"),
        replies.say("Done."),
    )
    for name in "abc":
        (here.folder / name).write_text("x")
    here.terminal.type("clean up")
    screen = here.terminal.wait_for("[n] no, or say why not:")
    assert LONG.replace(" ", "") in "".join(screen.split())
    assert "It asks because" in screen
    here.terminal.type("keep the last one")
    here.terminal.wait_for("rm a")
    here.terminal.type("y")
    here.terminal.wait_for("rm b")
    here.terminal.type("/deny")
    screen = here.terminal.wait_for("Done.")
    first = str(here.server.requests[1].messages[-1])
    assert "Their reason: keep the last one" in first
    assert "✗ terminal was not run: you said no: keep the last one" in screen
    assert "✓ terminal rm a" in screen
    assert not (here.folder / "a").exists()
    assert (here.folder / "b").exists()


def test_an_approval_for_the_session_asks_once(repl) -> None:
    command = {"command": "mkdir -p sub"}
    here = repl(
        replies.call("terminal", command, id="call_0"),
        replies.call("terminal", command, id="call_1"),
        replies.say("Done."),
    )
    here.terminal.type("go")
    here.terminal.wait_for("[s] for this session")
    here.terminal.type("s")
    screen = here.terminal.wait_for("Done.")
    (here.folder / "sub").rmdir()
    assert screen.count("✓ terminal mkdir -p sub") == 2
    assert screen.count("It asks because") == 1


def test_what_was_being_typed_is_no_answer_and_comes_back(repl) -> None:
    release = threading.Event()
    ask = replies.call("terminal", {"command": "rm a"})
    here = repl(replies.hold(ask, release), replies.say("Left alone."))
    (here.folder / "a").write_text("x")
    here.terminal.type("go")
    here.server.wait_for_requests(1)
    here.terminal.tmux("send-keys", "-l", "y")
    here.terminal.wait_for("> y")
    release.set()
    here.terminal.wait_for("say why not:")
    here.terminal.press("Enter")  # an empty line is no answer
    here.terminal.type("n")
    here.terminal.wait_for("Left alone.")
    here.terminal.wait_for("> y")
    here.terminal.press("C-c")
    here.terminal.wait_without("> y")
    assert (here.folder / "a").exists()


def test_a_choice_of_a_tool_is_picked_by_its_number(repl) -> None:
    question = replies.call("clarify", {"question": "Which one?", "choices": ["red", "blue"]})
    here = repl(question, replies.say("Blue it is."))
    here.terminal.type("choose")
    here.terminal.wait_for("Which one?\n  1. red\n  2. blue\n")
    here.terminal.type("2")
    here.terminal.wait_for("Blue it is.")
    assert "blue" in str(here.server.requests[1].messages[-1]["content"])


# -- the status line -------------------------------------------------------------------


def test_yolo_is_shown_in_the_status_line(repl) -> None:
    here = repl()
    here.terminal.type("/yolo")
    here.terminal.wait_for("· approvals off")
    assert re.search(r"\x1b\[33m[^\n]*approvals off", here.terminal.screen(colours=True))
    here.terminal.type("/yolo")
    here.terminal.wait_for("· approvals manual")


# -- the input -------------------------------------------------------------------------


def test_several_lines_are_one_message(repl) -> None:
    here = repl()
    here.terminal.tmux("send-keys", "-l", "first")
    here.terminal.press("C-j")
    here.terminal.tmux("send-keys", "-l", "second")
    here.terminal.press("M-Enter")
    here.terminal.type("third")
    here.terminal.wait_for("ok.")
    assert here.server.requests[0].messages[-1]["content"] == "first\nsecond\nthird"


def test_a_long_paste_is_a_mark_in_the_input_and_sent_whole(repl) -> None:
    text = "\n".join(f"line {number}" for number in range(50))
    here = repl()
    here.terminal.tmux("send-keys", "-l", "see: ")
    here.terminal.paste(text)
    here.terminal.wait_for(": 50 lines]")
    here.terminal.press("Enter")
    screen = here.terminal.wait_for("ok.")
    assert here.server.requests[0].messages[-1]["content"] == f"see: {text}"
    assert "  line 11\n  … 38 more lines\n" in screen


def test_a_pasted_image_is_a_mark_and_a_part_of_the_message(repl) -> None:
    here = repl()
    (here.folder / "my cat.png").write_bytes(PNG)
    here.terminal.tmux("send-keys", "-l", "what is ")
    here.terminal.paste(str(here.folder / "my cat.png").replace(" ", "\\ "))
    here.terminal.wait_for(": my cat.png]")
    here.terminal.paste((here.folder / "my cat.png").as_uri())
    here.terminal.paste(PNG_PART["image_url"]["url"])
    here.terminal.wait_for(": pasted image]")
    here.terminal.press("Enter")
    screen = here.terminal.wait_for("ok.")
    text, *images = here.server.requests[0].messages[-1]["content"]
    assert text["text"].startswith("what is [image ")
    assert images == [PNG_PART, PNG_PART, PNG_PART]
    assert screen.count("  with my cat.png, 1 KB\n") == 2


def test_an_image_that_is_named_with_an_at_comes_along(repl) -> None:
    here = repl()
    (here.folder / "cat.png").write_bytes(PNG)
    (here.folder / "fake.png").write_text("text")
    here.terminal.type("see @cat.png and @fake.png")
    screen = here.terminal.wait_for("ok.")
    assert here.server.requests[0].messages[-1]["content"] == [
        {"type": "text", "text": "see @cat.png and @fake.png"},
        PNG_PART,
    ]
    assert "fake.png is no PNG, JPEG, GIF or WebP. Only its name is sent." in screen


def test_a_file_that_is_named_with_an_at_comes_along(repl) -> None:
    here = repl()
    (here.folder / "note.txt").write_text("buy milk")
    here.terminal.tmux("send-keys", "-l", "read @no")
    here.terminal.wait_for("@note.txt")
    here.terminal.press("Tab")
    here.terminal.wait_for("> read @note.txt")
    here.terminal.press("Enter")
    here.terminal.wait_for("with note.txt, 8 characters")
    here.terminal.wait_for("ok.")
    sent = here.server.requests[0].messages[-1]["content"]
    assert sent == 'read @note.txt\n\n<file path="note.txt">\nbuy milk\n</file>'


def test_edit_takes_the_message_from_the_editor(repl) -> None:
    here = repl()
    editor = here.folder / "editor.sh"
    editor.write_text('#!/bin/sh\nprintf "from the editor" >> "$1"\n')
    editor.chmod(0o755)
    here.terminal.type("/edit words ")
    here.terminal.wait_for("ok.")
    assert here.server.requests[0].messages[-1]["content"] == "wordsfrom the editor"


def test_commands_models_providers_and_sessions_are_completed(repl) -> None:
    here = repl()
    here.terminal.type("the first question")
    here.terminal.wait_for(IDLE)
    here.terminal.type("/new")
    here.terminal.wait_for("New session")
    for typed, offered in {
        "/und": "/undo  Take the last question",
        "/model off": "offline/offline-1",
        "/provider cus": "custom",
        "/resume first qu": "the first question",
    }.items():
        here.terminal.tmux("send-keys", "-l", typed)
        here.terminal.wait_for(offered, times=1 + (offered == "the first question"))
        here.terminal.press("C-c")
        here.terminal.wait_without(typed)


# -- slash commands --------------------------------------------------------------------


def test_a_mistyped_command_suggests(repl) -> None:
    here = repl()
    here.terminal.type("/modle")
    here.terminal.wait_for("There is no command /modle. Did you mean /model?")


def test_undo_and_retry_in_place(repl) -> None:
    here = repl(replies.say("One."), replies.say("Two."))
    here.terminal.type("count")
    here.terminal.wait_for(IDLE)
    here.terminal.type("/retry")
    here.terminal.wait_for("Two.")
    here.terminal.wait_for(IDLE)
    asked = [one["content"] for one in here.server.requests[1].messages if one["role"] != "system"]
    here.terminal.type("/undo")
    here.terminal.wait_for("Taken back: 'count'.")
    assert asked == ["count"]


COMMANDS = {
    "/help": "/approve [once|session|always]",
    "/status": "approvals  manual (asks you)",
    "/usage": "10 tokens in",
    "/title A new name": "The title is now 'A new name'.",
    "/model": "custom/scripted answers.",
    "/provider": "custom answers. There is:",
    "/tools": "read_file: Read a text file",
    "/toolsets": "/toolsets A,B begins a session",
    "/skills": "Follow ",
    "/memory": "Notes (MEMORY.md)",
    "/compress": "Nothing was compressed: ",
    "/steer": "/steer needs what to say.",
    "/queue later": "\n> later\n\nok.",
    "/stop": "Nothing is running.",
    "/approve": "Nothing waits for an answer.",
    "/deny no": "Nothing waits for an answer.",
    "/save talk.md": "Written to ",
    "/save": "/save needs a file.",
    "/branch": "Going on in a copy",
    "/undo": "Taken back: 'later'",
    "/resume A new name": "Going on with A new name.",
    "/new": "New session",
    "/retry": "There is no question to take back.",
}
"""Those that are not here have a test of their own: /edit /verbose /yolo /quit."""


def test_every_command_answers(repl) -> None:
    here = repl()
    pack = here.home / "skills" / "tea" / "SKILL.md"
    pack.parent.mkdir(parents=True, exist_ok=True)
    pack.write_text("---\nname: tea\ndescription: How to make it.\n---\n")
    here.terminal.type("the question")
    here.terminal.wait_for(IDLE)
    for line, said in COMMANDS.items():
        here.terminal.press("C-l")
        here.terminal.wait_without(said)
        here.terminal.type(line)
        here.terminal.wait_for(said)
        here.terminal.wait_without("Esc interrupts")
    assert (here.folder / "talk.md").read_text("utf-8").startswith("# A new name\n")
