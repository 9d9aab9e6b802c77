"""What a session is called until somebody names it."""

from __future__ import annotations

import pytest

from hermes_core.agent.title import TITLE_CHARS, title_of
from hermes_plugins import Message, TextPart, assistant_message, user_message


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("what is this?", "what is this?"),
        ("\n\n  two   words \n and more", "two words"),
        ("# Plan\nfor today", "Plan"),
        ("- **fix** the `build`", "fix the build"),
        ("> 1. quoted", "quoted"),
        ("```python\nprint()\n```", "print()"),
        ("<think>hm, what now</think>\nthe question", "the question"),
        ("<think>never closed", ""),
        ("why does <div> not close?", "why does <div> not close?"),
        ("a_b * c ** d", "a_b * c d"),
        ("\x1b[31mred\x07", "red"),
        ("", ""),
        ("你" * 70, "你" * 59 + "…"),
        ("word " * 20, " ".join(["word"] * 12) + "…"),
        ("x" * TITLE_CHARS, "x" * TITLE_CHARS),
        ("see /a/very/long/path/" + "y" * 80, "see /a/very/long/path/" + "y" * 37 + "…"),
    ],
)
def test_a_title_is_the_first_line_in_short(text: str, title: str) -> None:
    assert title_of([user_message(text)]) == title
    assert len(title) <= TITLE_CHARS


def test_the_first_message_of_the_person_counts() -> None:
    messages = [
        user_message("", added=("the clock says noon",)),
        assistant_message("I am here."),
        Message(role="user", parts=(TextPart("be quick"),), meta={"steer": True}),
        user_message("the question"),
        user_message("another question"),
    ]
    assert title_of(messages) == "the question"


def test_without_words_of_the_person_there_is_no_title() -> None:
    assert title_of([assistant_message("I am here.")]) == ""
