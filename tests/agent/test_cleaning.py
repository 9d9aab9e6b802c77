"""Cleaning of what comes in and what goes out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_core.agent.cleaning import MAX_INPUT_CHARS, Cleaned, clean_input, clean_output


@pytest.mark.parametrize("text", ["", "plain\ttext\n", "e\u0301 \u00e9 \U0001f600", "\ufffd"])
def test_clean_input_stays_as_it_is(text: str) -> None:
    assert clean_input(text) == Cleaned(text)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a\0b", "ab"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\x1b[31mred\x1b[0m\x7f\x85", "red"),
        ("a\ud800b", "a\ufffdb"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\udc80\ud800", "\ufffd\ufffd"),
    ],
)
def test_what_cannot_be_stored_or_sent_is_taken_out(text: str, clean: str) -> None:
    assert clean_input(text).text == clean


def test_taken_out_characters_are_told_but_line_ends_are_not() -> None:
    assert clean_input("a\0\0b").notes == ("2 control characters were taken out.",)
    assert clean_input("a\r\nb").notes == ()


def test_an_oversize_paste_is_cut_and_said() -> None:
    cleaned = clean_input("x" * (MAX_INPUT_CHARS + 5))
    assert len(cleaned.text) == MAX_INPUT_CHARS
    assert cleaned.notes == (
        "The text was cut to 400,000 of 400,005 characters. "
        "Save it as a file and name the file instead.",
    )


@given(st.text(alphabet=st.characters(), max_size=50), st.integers(0, 40))
def test_any_input_becomes_encodable_and_is_clean_the_second_time(text: str, limit: int) -> None:
    cleaned = clean_input(text, limit=limit).text
    cleaned.encode("utf-8")
    assert "\0" not in cleaned
    assert len(cleaned) <= limit
    assert clean_input(cleaned, limit=limit) == Cleaned(cleaned)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain \u00e9\n\t", "plain \u00e9\n\t"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "xlink"),
        ("\x9b31mred\x9d0;t\x9c", "red"),
        ("\x1bP1$r0m\x1b\\x\x1b(B\x1b7\x1bc", "x"),
        ("hidden\rshown", "hidden\nshown"),
        ("a\x08b\x1b", "ab"),
        ("\x1b]0;never ended", "]0;never ended"),
    ],
)
def test_output_cannot_steer_a_terminal(text: str, shown: str) -> None:
    assert clean_output(text) == shown


@given(st.text(alphabet="\x1b[]P\\\x07\x9b\x9c;0m\n\r\tab"))
def test_no_control_character_is_left(text: str) -> None:
    assert not set(clean_output(text)) & set("\x1b\x07\x9b\x9c\r")
