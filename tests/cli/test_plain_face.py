"""The plain face as a person sees it: events in, text out."""

from __future__ import annotations

import io

from hermes_core.cli.face import PlainFace
from hermes_plugins import (
    Event,
    Message,
    MessageDone,
    Notice,
    ReasoningDelta,
    Retrying,
    TextDelta,
    ToolDone,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    assistant_message,
    user_message,
)

STARTED = TurnStarted(message=user_message("hi"), model="m")
ENDED = TurnEnded(outcome="completed", text="")


def screen(*events: Event, **display: object) -> str:
    """What is on a terminal, where both streams end up."""
    both = io.StringIO()
    face = PlainFace(both, both, **display)  # type: ignore[arg-type]
    for event in (STARTED, *events):
        face.show(event)
    return both.getvalue()


def done(text: str = "") -> MessageDone:
    return MessageDone(message=assistant_message(text), position=2)


def tool_done(status: str, summary: str = "", seconds: float = 0.1) -> ToolDone:
    return ToolDone(call="1", tool="terminal", status=status, summary=summary, seconds=seconds)  # type: ignore[arg-type]


STARTED_TOOL = ToolStarted(call="1", tool="terminal", label="make all")


def test_an_answer_stands_apart_and_ends_its_line() -> None:
    assert screen(TextDelta(text="\n\nHel"), TextDelta(text="lo."), done(), ENDED) == "\nHello.\n"


def test_tool_calls_are_a_line_each_and_the_answer_stands_below() -> None:
    text = screen(
        TextDelta(text="Let me look."),
        done(),
        STARTED_TOOL,
        tool_done("ok"),
        STARTED_TOOL,
        tool_done("ok", seconds=12.3),
        TextDelta(text="All well.\n"),
        done(),
        ENDED,
    )
    assert text == (
        "\nLet me look.\n· terminal make all\n· terminal make all\n  done in 12 s\n\nAll well.\n"
    )


def test_a_tool_that_fails_says_why_in_its_line() -> None:
    text = screen(STARTED_TOOL, tool_done("failed", "Error (transient): no such file"))
    assert text == "\n· terminal make all\n  terminal failed: no such file\n"


def test_a_tool_that_is_refused_is_named() -> None:
    text = screen(tool_done("blocked", "you said no"))
    assert text == "\n· terminal was not run: you said no\n"


def test_an_interruption_is_one_line_for_the_tool_and_one_for_the_turn() -> None:
    end = TurnEnded(outcome="interrupted", reason="Interrupted: you pressed Ctrl-C.")
    text = screen(STARTED_TOOL, tool_done("interrupted", "[interrupted]"), end)
    assert text == "\n· terminal make all\n  interrupted\nInterrupted: you pressed Ctrl-C.\n"


def test_a_partial_answer_ends_its_line_before_the_reason() -> None:
    end = TurnEnded(outcome="incomplete", text="Half", reason="It broke off.", hint="Ask again.")
    assert screen(TextDelta(text="Half"), end) == "\nHalf\nIt broke off.\nAsk again.\n"


def test_reasoning_is_shown_only_when_wanted_and_stands_apart() -> None:
    events = (ReasoningDelta(text="Hm, "), ReasoningDelta(text="well."), TextDelta(text="Yes."))
    assert screen(*events, done(), ENDED) == "\nYes.\n"
    assert screen(*events, done(), ENDED, show_reasoning=True) == "\nHm, well.\n\nYes.\n"


def test_an_answer_can_be_held_until_it_is_whole() -> None:
    events = (
        TextDelta(text="One, "),
        Notice(text="A note."),
        TextDelta(text="two."),
        done(),
        ENDED,
    )
    assert screen(*events, streaming=False) == "\nA note.\n\nOne, two.\n"


def test_what_was_held_is_dropped_when_the_model_is_asked_again() -> None:
    retry = Retrying(reason="overloaded", detail="It broke off.", attempt=1, delay=1)
    events = (TextDelta(text="Ha"), retry, TextDelta(text="Whole."), done(), ENDED)
    said = screen(*events, streaming=False)
    assert said == "\nIt broke off. Trying again in 1 s.\n\nWhole.\n"


def test_tool_calls_are_shown_as_the_settings_say() -> None:
    failed = (STARTED_TOOL, tool_done("failed", "Error (permanent): no"))
    events = (*(STARTED_TOOL, tool_done("ok")) * 3, *failed, TextDelta(text="Done."), done())
    line = "· terminal make all\n"
    why = "  terminal failed: no\n"
    answer = "\nDone.\n"
    assert screen(*events) == f"\n{line * 4}{why}{answer}"
    assert screen(*events, tool_progress="new") == f"\n{line}{why}{answer}"
    assert screen(*events, tool_progress="off") == answer


def test_notes_and_waits_are_lines_of_their_own() -> None:
    retry = Retrying(reason="overloaded", detail="It is overloaded.", attempt=1, delay=0.3)
    text = screen(
        TextDelta(text="One"), Notice(text="A note."), retry, TextDelta(text="Two"), done()
    )
    assert text == "\nOne\nA note.\nIt is overloaded. Trying again in 1 s.\n\nTwo\n"


def test_what_came_too_late_is_given_back() -> None:
    end = TurnEnded(outcome="completed", text="x", unsent=("and quick", "please"))
    assert screen(TextDelta(text="x"), end).endswith("Not passed on any more: and quick / please\n")


def test_nothing_that_steers_a_terminal_gets_through() -> None:
    evil = "\x1b]0;x\x07\x1b[2J\x9bH\x08ok\r"
    text = screen(
        TextDelta(text=evil),
        ToolStarted(call="1", tool="terminal", label=evil),
        tool_done("failed", evil),
        Notice(text=evil),
        TurnEnded(outcome="failed", reason=evil, hint=evil),
    )
    assert not {
        char for char in text if (ord(char) < 32 and char != "\n") or 127 <= ord(char) < 160
    }


def test_messages_of_others_change_nothing() -> None:
    message = Message(role="tool", tool_call_id="1", tool_name="terminal")
    assert screen(MessageDone(message=message, position=3)) == "\n"
