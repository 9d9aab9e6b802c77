"""Cutting answers into messages: nothing lost, nothing too long, fences whole, always an end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_core.gateway.splitting import size, split
from hermes_plugins import Limits


def characters(count: int) -> Limits:
    return Limits(text=count)


def test_a_short_text_is_one_message() -> None:
    assert split("Hello\nthere", characters(100)) == ["Hello\nthere"]


@pytest.mark.parametrize("text", ["", "\n \n", "\r\n"])
def test_nothing_gives_no_message(text: str) -> None:
    assert split(text, characters(100)) == []
    assert split(text, Limits(text=100, single_line=True)) == []


def test_cuts_fall_between_lines_else_between_words() -> None:
    assert split("one two\nthree four", characters(10)) == ["one two", "three four"]
    assert split("one two three four", characters(10)) == ["one two", "three four"]


def test_a_word_that_is_too_long_is_cut_anywhere() -> None:
    assert split("a" * 25, characters(10)) == ["a" * 10, "a" * 10, "a" * 5]


@pytest.mark.parametrize(
    ("unit", "text", "parts"),
    [
        ("bytes", "ééé", ["éé", "é"]),
        ("utf16", "😀😀😀", ["😀😀", "😀"]),
        ("characters", "😀😀😀😀😀", ["😀😀😀😀", "😀"]),
    ],
)
def test_the_unit_of_the_platform_counts(unit: str, text: str, parts: list[str]) -> None:
    assert split(text, Limits(text=4, unit=unit)) == parts  # type: ignore[arg-type]


def test_a_cut_does_not_part_a_letter_from_its_accent() -> None:
    assert split("ae\u0301o", characters(2)) == ["a", "e\u0301", "o"]


def test_a_fence_is_closed_and_opened_again() -> None:
    text = "see\n```python\n" + "\n".join(f"line{n} = {n}" for n in range(6)) + "\n```\nend"
    parts = split(text, characters(50))
    assert len(parts) > 1
    for part in parts[:-1]:
        assert part.count("```") % 2 == 0
    assert parts[1].startswith("```python\nline")
    assert "```\n```" not in "".join(parts)
    assert parts[-1].endswith("end")


def test_a_longer_fence_is_closed_by_its_own_kind_only() -> None:
    text = "````\n" + "```\n" * 12 + "````"
    parts = split(text, characters(30))
    assert all(part.startswith("````\n") and part.endswith("\n````") for part in parts)


def test_a_fence_with_one_endless_line_ends() -> None:
    parts = split("```\n" + "x" * 1000 + "\n```", characters(40))
    assert all(part.startswith("```\n") and part.endswith("\n```") for part in parts)
    assert sum(part.count("x") for part in parts) == 1000


def test_a_fence_that_fills_the_message_is_text_like_any_other() -> None:
    assert all(len(part) <= 12 for part in split("```python\nabc\n```", characters(12)))


def test_where_a_message_is_a_line_every_line_is_a_message() -> None:
    limits = Limits(text=10, unit="bytes", single_line=True)
    assert split("one\n\n  two\r\nthree four five", limits) == [
        "one",
        "  two",
        "three four",
        "five",
    ]


@given(
    text=st.text(alphabet=st.sampled_from("ab `~\n\r é你😀\u0301\u200d"), max_size=300),
    limit=st.integers(min_value=4, max_value=60),
    unit=st.sampled_from(["characters", "utf16", "bytes"]),
    single_line=st.booleans(),
)
def test_no_message_is_too_long_and_no_letter_is_lost(
    text: str, limit: int, unit: str, single_line: bool
) -> None:
    limits = Limits(text=limit, unit=unit, single_line=single_line)  # type: ignore[arg-type]
    parts = split(text, limits)
    assert all(0 < size(part, unit) <= limit for part in parts)
    kept = [letter for letter in "".join(parts) if letter in "abé你😀"]
    assert kept == [letter for letter in text if letter in "abé你😀"]
