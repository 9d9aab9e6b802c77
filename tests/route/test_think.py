"""Reasoning between tags, split from the answer."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_core.route.think import ThinkSplitter, tags_of


def split(*pieces: str, splitter: ThinkSplitter | None = None) -> tuple[str, str]:
    splitter = splitter or ThinkSplitter()
    parts = [splitter.feed(piece) for piece in pieces] + [splitter.flush()]
    return "".join(part.text for part in parts), "".join(part.reasoning for part in parts)


@pytest.mark.parametrize(
    "name", ["think", "thinking", "thought", "reasoning", "mm:think", "seed:think", "Think", "思考"]
)
def test_a_block_that_opens_the_answer_is_reasoning(name: str) -> None:
    assert split(f"<{name}>why</{name}>\n\nbecause") == ("because", "why")


@pytest.mark.parametrize(
    ("text", "answer", "reasoning"),
    [
        ("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>yes",
         "yes", "hm"),
        ("<|channel|>analysis<|message|>hm<|channel|>final<|message|>yes", "yes", "hm"),
        ("<|channel|>final<|message|>yes", "yes", ""),
        ("<|channel>thought\nhm<channel|>yes", "yes", "\nhm"),
        ("◁think▷hm◁/think▷yes", "yes", "hm"),
    ],
)  # fmt: skip
def test_channel_markers_are_understood(text: str, answer: str, reasoning: str) -> None:
    assert split(text) == (answer, reasoning)


def test_a_tag_at_the_start_of_a_later_line_is_reasoning() -> None:
    assert split("First.\n  <think>hm</think>\nSecond.") == ("First.\n  \nSecond.", "hm")


@pytest.mark.parametrize(
    "text",
    [
        "Use the <think> tag.",
        "```\n<think>x</think>\n```\n",
        "~~~~xml\n~~~\n<think>x</think>\n~~~~\n",
        "- <think>x</think>",
        "a < b\n<thin>",
        "  indented answer\n",
        "\n\n",
    ],
)
def test_text_about_tags_and_plain_text_stay_as_they_are(text: str) -> None:
    assert split(text) == (text, "")
    assert split(*text) == (text, "")


def test_a_tag_after_a_closed_code_fence_counts_again() -> None:
    assert split("```py\n```\n<think>x</think>ok") == ("```py\n```\nok", "x")


def test_a_tag_that_is_never_closed_keeps_the_rest_as_reasoning() -> None:
    assert split("<think>first this,", " then </thi") == ("", "first this, then </thi")


def test_a_closing_tag_without_an_opening_one_marks_what_was_shown_as_reasoning() -> None:
    splitter = ThinkSplitter()
    text, _ = split("I weigh it.\n", "</think>\n\nYes.", splitter=splitter)
    assert (text[: splitter.orphan], text[splitter.orphan :]) == ("I weigh it.\n", "Yes.")


def test_the_beginning_of_a_tag_is_held_back_and_shown_when_it_is_none() -> None:
    splitter = ThinkSplitter()
    assert splitter.feed("<thi").text == ""
    assert splitter.feed("s is html").text == "<this is html"


def test_tags_can_be_given() -> None:
    splitter = ThinkSplitter(tags_of(("plan",)))
    assert split("<plan>a</plan>b <think>", splitter=splitter) == ("b <think>", "a")


MARKERS = (
    "<think> </think> </THINK> <|channel|>analysis<|message|> <|channel|>final<|message|> <|end|>"
)
PARTS = st.sampled_from(
    [*MARKERS.split(), "<thi", "</", "<", "\n", "\n\n", "  ", "```", "~~~", "`", "a", "word ", "İ"]
)


@given(st.lists(PARTS, max_size=14).map("".join), st.data())
def test_the_split_does_not_depend_on_how_the_text_was_cut(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    edges = [0, *cuts, len(text)]
    pieces = [text[a:b] for a, b in pairwise(edges)]
    whole, cut, chars = ThinkSplitter(), ThinkSplitter(), ThinkSplitter()
    expected = split(text, splitter=whole)
    assert split(*pieces, splitter=cut) == expected
    assert split(*text, splitter=chars) == expected
    assert whole.orphan == cut.orphan == chars.orphan
