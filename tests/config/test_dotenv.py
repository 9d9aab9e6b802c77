"""Reading and writing .env."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_core.dotenv import Assignment, Unread, quote, scan, set_variable, unset_variable


def read(text: str) -> dict[str, str]:
    return {item.name: item.value for item in scan(text) if isinstance(item, Assignment)}


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("A = b", "b"),
        ("  export A=b  ", "b"),
        ("A=", ""),
        ("A=http://localhost:1234  # the local one", "http://localhost:1234"),
        ("A=sk-a#b#c", "sk-a#b#c"),
        ("A=#abc", "#abc"),
        ("A= # nothing", ""),
        ("A='x # y'  # note", "x # y"),
        ('A="x # y"', "x # y"),
        ('A="say \\"hi\\"\\n\\$5"', 'say "hi"\n$5'),
        ("A='a\\nb'", "a\\nb"),
        ("A='first\nsecond'", "first\nsecond"),
        ("A=it's", "it's"),
        ('A="open', '"open'),
        ("A=b=c", "b=c"),
        ("A=b\r", "b"),
        ('A="b"\r', "b"),
    ],
)
def test_a_line_is_read_as_shells_and_people_mean_it(line: str, value: str) -> None:
    assert read(line) == {"A": value}
    assert read(f"Z=1\n{line}\nB=2\n") == {"Z": "1", "A": value, "B": "2"}


def test_comments_and_blank_lines_are_nothing_and_the_last_line_of_a_name_counts() -> None:
    assert read("# A=1\n\n   # B=2\nC=3\nC=4\n") == {"C": "4"}


def test_a_line_that_is_no_assignment_is_told_with_its_number() -> None:
    assert [item for item in scan("A=1\nwhat is this\n1B=2\n") if isinstance(item, Unread)] == [
        Unread(line=2),
        Unread(line=3),
    ]


def test_setting_a_variable_leaves_every_other_byte() -> None:
    before = "# keys\r\nA=1 # one\r\nexport B='2'\r\nC=3"
    assert set_variable(before, "B", "x#y z") == "# keys\r\nA=1 # one\r\nB='x#y z'\r\nC=3"
    assert set_variable(before, "D", "4") == before + "\r\nD=4\r\n"
    assert set_variable("", "D", "4") == "D=4\n"


def test_unsetting_a_variable_removes_all_its_lines_and_no_other() -> None:
    assert unset_variable("A=1\nB=2\nA='3\n4'\nC=5\n", "A") == "B=2\nC=5\n"
    assert unset_variable("A=1\n", "B") == "A=1\n"


def test_a_token_with_a_hash_is_quoted() -> None:
    assert quote("sk-test#not-a-real-key") == "'sk-test#not-a-real-key'"
    assert quote("sk-test-not-a-real-key") == "sk-test-not-a-real-key"


texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(texts, texts)
def test_what_is_written_is_read_back(first: str, second: str) -> None:
    text = set_variable(set_variable("# keys\nZ=0\n", "A", first), "B", second)
    assert read(text) == {"Z": "0", "A": first, "B": second}
    assert read(set_variable(text, "A", second)) == {"Z": "0", "A": second, "B": second}
    assert read(unset_variable(text, "A")) == {"Z": "0", "B": second}
