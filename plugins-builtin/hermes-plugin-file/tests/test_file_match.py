"""Finding the old text, and what comes in its place."""

from __future__ import annotations

import unicodedata

import pytest
from hermes_plugin_file.match import replace
from hypothesis import assume, given
from hypothesis import strategies as st

from hermes_plugins import REDACTION_MARK, ToolError

LOOSE = "look-alike characters taken as equal"
SHIFTED = "shifted to the file's indentation"
TRAILING = "spaces at line ends ignored"


@pytest.mark.parametrize(
    ("body", "old", "new", "after", "strategy"),
    [
        # E1: backslash text in a CRLF file stays backslash text.
        ("a\r\nb\r\n", "a\nb", "x\ndir\\run\\new", "x\r\ndir\\run\\new\r\n", ""),
        # E2: indentation in a CRLF file is neither lost nor doubled.
        (
            "def f():\r\n    if x:\r\n        y\r\n",
            "    if x:\n        y",
            "    if x:\n        z",
            "def f():\r\n    if x:\r\n        z\r\n",
            "",
        ),
        (
            "def f():\r\n    if x:\r\n        y\r\n",
            "if x:\n    y\n",
            "if x:\n    z\n",
            "def f():\r\n    if x:\r\n        z\r\n",
            SHIFTED,
        ),
        # E3: every other line end is left as it is, also in a file that mixes them.
        ("a\r\nb\nc\r\n", "b", "B", "a\r\nB\nc\r\n", ""),
        ("a\r\nb\nc\r\nd\n", "a\nb\nc", "a\nb\nC", "a\r\nb\nC\r\nd\n", ""),
        # E4: a backslash and an n in the new text are two characters.
        ("f(1)  \ng(2)\n", "f(1)\ng", 'f("\\n")\ng', 'f("\\n")  \ng(2)\n', TRAILING),
        # E9: the file's own characters survive beside the change.
        ("a\u00a0\u201cb\u201d \u2013\n", 'a "b"', 'a "c"', "a\u00a0\u201cc\u201d \u2013\n", LOOSE),
        ("10\u202fh \u2014 ok\n", "10 h - ok", "11 h - ok", "11\u202fh \u2014 ok\n", LOOSE),
        ("cafe\u0301 noir\n", "caf\u00e9 noir", "caf\u00e9 blanc", "cafe\u0301 blanc\n", LOOSE),
        ("caf\u00e9 noir\n", "cafe\u0301 noir", "cafe\u0301 blanc", "caf\u00e9 blanc\n", LOOSE),
        ("\u1112\u1161\u11ab a\n", "\ud55c a", "\ud55c b", "\u1112\u1161\u11ab b\n", LOOSE),
        # An exact match wins, and then the new text goes in as it is.
        ("\u201chi\u201d\n", "\u201chi\u201d", '"hi"', '"hi"\n', ""),
        # Spaces at line ends, on either side.
        ("a = 1  \nb = 2\n", "a = 1\nb = 2", "a = 1\nb = 3", "a = 1  \nb = 3\n", TRAILING),
        ("a = 1\nb = 2\n", "a = 1   \nb = 2", "c", "c\n", TRAILING),
        ("a = 1\nb\n", "a = 1 ", "c", "c\nb\n", TRAILING),
        # Tabs are indentation like any other.
        ("\tif x:\n\t\ty\n", "if x:\n\ty", "if x:\n\tz\n\tw", "\tif x:\n\t\tz\n\t\tw\n", SHIFTED),
        # No line end at the end of the file: none appears.
        ("a\nb", "b", "c", "a\nc", ""),
        ("old mac\rline\r", "mac\nline", "mac\nword", "old mac\rword\r", ""),
    ],
)  # fmt: skip
def test_the_old_text_is_found_and_the_rest_kept(
    body: str, old: str, new: str, after: str, strategy: str
) -> None:
    done = replace(body, old, new)
    assert (done.body, done.strategy) == (after, strategy)


@pytest.mark.parametrize(
    ("body", "old", "said"),
    [
        # E5: first and last line agree, the middle does not: no guess.
        ("start\n  real work\nend\n", "start\n  other things\nend", "closest place is lines 1-3"),
        ("def a():\n    return 1\n", "def b():\n    return 1\n", "closest place is lines 1-2"),
        ("x = 10\n", "x = 1 ", "is not in the file"),
        # A shift must be the same for every line.
        ("    if x:\n      y\n", "if x:\n    y\n", "is not in the file"),
        ("1|a\n", "", "empty or only whitespace"),
        ("a\n", " \n\t", "empty or only whitespace"),
        ("a\n", "\u00a0\n", "empty or only whitespace"),
        ("alpha\n", "1|alpha", "Leave out the line numbers"),
        ("a\nb\n", "a\\nb", "holds a backslash and an n"),
        ("key = 1\n", f"key = {REDACTION_MARK}»", "holds a masked secret"),
        ("x\ny\nx\ny\nx\n", "x\ny", "stands in 2 places (lines 1, 3)"),
        ("aaa", "aa", "stands in 2 places"),
        ("\u2018a\u2019 'b'\n\u201ca\u201d\n\u2018a\u2019\n", "'a'", "2 places (lines 1, 3)"),
        ("  f()\n    f()\n", "\tf()", "2 places (lines 1, 2)"),
        ("a", "a", "nothing to change"),
    ],
)
def test_what_is_not_certain_is_refused_and_says_why(body: str, old: str, said: str) -> None:
    with pytest.raises(ToolError) as error:
        replace(body, old, old if "nothing to change" in said else "\tnew")
    assert said in str(error.value)


def test_every_place_is_replaced_when_asked() -> None:
    done = replace("a\r\nb\r\na\r\n", "a\n", "c\nd\n", every=True)
    assert (done.body, done.lines) == ("c\r\nd\r\nb\r\nc\r\nd\r\n", (1, 3))
    assert replace("aaa", "aa", "b", every=True).body == "ba"


def test_the_closest_place_is_shown_as_a_small_diff() -> None:
    body = (
        "".join(f"line {number} of the file\n" for number in range(100)) + "total = compute(x, y)\n"
    )
    with pytest.raises(ToolError) as error:
        replace(body, "total = compute(x)\n", "")
    assert "line 101" in str(error.value)
    assert "-total = compute(x)\n+total = compute(x, y)" in str(error.value)
    assert len(str(error.value)) < 400


LINES = st.lists(st.text("ab \t\\ré“'-\u00a0", max_size=6), min_size=1, max_size=8)


@given(LINES, LINES, LINES, st.sampled_from(["\n", "\r\n"]))
def test_an_exact_replacement_changes_the_passage_alone(
    before: list[str], old: list[str], after: list[str], newline: str
) -> None:
    passage = newline.join(old)
    assume(passage.strip() and "\r" not in "".join(before + old + after))
    body = newline.join([*before, "<<", passage, ">>", *after])
    wanted = f"<<\n{chr(10).join(old)}\n>>"
    done = replace(body, wanted, "<<\nfresh\\n\n>>")
    assert done.body == newline.join([*before, "<<", "fresh\\n", ">>", *after])
    assert replace(done.body, "<<\nfresh\\n\n>>", wanted).body == body


@given(st.text("ae\u0301\u00e9n\u0303ô \u00a0\u202f“”‘’–—-'\"\n", min_size=1, max_size=30))
def test_a_change_beside_look_alikes_leaves_them_alone(text: str) -> None:
    plain = unicodedata.normalize("NFC", text)
    for fancy, simple in zip("\u00a0\u202f“”‘’–—", "  \"\"''--", strict=True):
        plain = plain.replace(fancy, simple)
    body = f"start\n{text}X\nend\n"
    done = replace(body, f"start\n{plain}X\n", f"start\n{plain}Y\n")
    assert done.body == f"start\n{text}Y\nend\n"
