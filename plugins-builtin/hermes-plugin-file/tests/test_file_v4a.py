"""The V4A patch format: what it says, and what it does to a file."""

from __future__ import annotations

import pytest
from hermes_plugin_file import hunks, v4a
from hypothesis import given
from hypothesis import strategies as st

from hermes_plugins import ToolError, resolve_effects

CLASS = "class {}:\n    def run(self):\n        return 1\n"
CLASSES = CLASS.format("A") + "\n" + CLASS.format("B")
RETURN = "-        return 1\n+        return 2"


def apply(body: str, hunk: str) -> str:
    (operation,) = v4a.parse(f"*** Begin Patch\n*** Update File: f\n{hunk}\n*** End Patch")
    return hunks.apply(body, operation)


@pytest.mark.parametrize(
    ("body", "hunk", "after"),
    [
        ("a\nb\nc\n", "@@\n a\n-b\n+B\n c", "a\nB\nc\n"),
        ("a\nb\nc\n", " a\n-b\n+B\n c", "a\nB\nc\n"),
        ("a\r\nb\r\n", "@@\n a\n-b\n+B\\r\n+C", "a\r\nB\\r\r\nC\r\n"),
        ("a\nb", "@@\n-b\n+B", "a\nB"),
        ("a\nb", "@@\n b\n+c", "a\nb\nc"),
        ("a\n", "@@\n a\n+b\n*** End of File", "a\nb\n"),
        ("x\na\nx\n", "@@\n-x\n+y\n*** End of File", "x\na\ny\n"),
        ("a\nb\n", "@@ a\n+new", "a\nnew\nb\n"),
        ("a\n", "@@\n+last", "a\nlast\n"),
        ("", "@@\n+first", "first\n"),
        (CLASSES, "@@ class B:\n@@ def run(self):\n" + RETURN, CLASSES[:-2] + "2\n"),
        (CLASSES, "@@ -6,1 +6,1 @@ class B:\n" + RETURN, CLASSES[:-2] + "2\n"),
        ("a\n\nb\n", "@@\n a\n\n-b\n+c", "a\n\nc\n"),
        ("a  \nb\n", "@@\n a\n-b\n+c", "a  \nc\n"),
        ("\u201ca\u201d\u00a0b\nc\n", '@@\n "a" b\n-c\n+d', "\u201ca\u201d\u00a0b\nd\n"),
        ("x = \u201ca\u201d\n", '@@\n-x = "a"\n+x = "b"', "x = \u201cb\u201d\n"),
        ("a\nb\nc\nd\n", "@@\n-a\n+A\n@@\n-d\n+D", "A\nb\nc\nD\n"),
        ("a\n", "@@\n-a", ""),
    ],
)  # fmt: skip
def test_a_hunk_changes_its_lines_alone(body: str, hunk: str, after: str) -> None:
    assert apply(body, hunk) == after


@pytest.mark.parametrize(
    ("body", "hunk", "said"),
    [
        ("a\nb\n", "@@\n-a\n+A\n@@\n-gone\n+x", "hunk 2 of 2 of f: what it expects is not in the file"),
        (CLASSES, "@@\n" + RETURN, "stand in 2 places (lines 3, 7)"),
        (CLASSES, "@@ def run(self):\n" + RETURN, "stand in 2 places (lines 3, 7)"),
        ("a\n", "@@ class Gone\n+x", "anchor 'class Gone' is not in the file"),
        ("a\nb\n", "@@\n-b\n+B\n@@\n-a\n+A", "above line 2, where the hunk before it ended"),
        ("a\n\n\nb\n", "@@\n \n+x", "only blank lines"),
        ("total = 1\n", "@@\n-total = 2\n+x", "closest place is line 1"),
    ],
)  # fmt: skip
def test_a_hunk_that_does_not_fit_is_named_with_its_reason(body: str, hunk: str, said: str) -> None:
    with pytest.raises(ToolError) as error:
        apply(body, hunk)
    assert said in str(error.value)
    assert str(error.value).startswith("hunk ")


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("", "line 1 of the patch"),
        ("*** Begin Patch\n*** End Patch", "changes no file"),
        ("*** Update File: a\n", "has no change under it"),
        ("*** Add File: a\nplain", "line 2 of the patch is not of the V4A format: 'plain'"),
        ("*** Update File: a\n@@\nplain", "line 3 of the patch"),
        ("*** Delete File: a\n-x", "line 2 of the patch"),
    ],
)
def test_a_malformed_patch_names_the_line(patch: str, said: str) -> None:
    with pytest.raises(ToolError) as error:
        v4a.parse(patch)
    assert said in str(error.value)


def test_crlf_in_the_patch_itself_is_not_part_of_it() -> None:
    (operation,) = v4a.parse("*** Update File: f\r\n@@\r\n-a\r\n+b\r\n")
    assert operation.path == "f"
    assert hunks.apply("a\n", operation) == "b\n"


def test_a_large_patch_loses_nothing() -> None:
    body = "".join(f"line {number}\n" for number in range(5000))
    hunk = "\n".join(f"@@\n-line {number}\n+LINE {number}" for number in range(0, 5000, 2))
    after = apply(body, hunk)
    assert after.count("LINE") == 2500
    assert after.lower() == body


def test_the_effects_name_every_path_inside() -> None:
    from hermes_plugin_file import patch

    text = (
        "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n-x\n+y\n"
        "*** Add File: c d.py \n+z\n*** Delete File: /etc/hosts\n*** End Patch"
    )
    assert resolve_effects(patch.effects, {"patch": text}).writes == (
        "a.py",
        "b.py",
        "c d.py",
        "/etc/hosts",
    )
    assert resolve_effects(patch.effects, {"path": "x", "patch": text}).writes[0] == "x"
    assert resolve_effects(patch.effects, {"patch": "nonsense"}).unknown
    assert [operation.path for operation in v4a.parse(text)] == ["a.py", "c d.py", "/etc/hosts"]


ODD_LINES = (
    ["*** Update File: a", "*** Add File: b\r", "\r*** Delete File: c", "*** Move to: d", "@@", ""],
    [" *** Update File: e", "\u2028*** Add File: f", "\x0c*** Add File: g", "+x", "-y", "\r\r\n"],
)


@given(
    st.lists(st.sampled_from(ODD_LINES[0]) | st.sampled_from(ODD_LINES[1]), max_size=8),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_no_patch_touches_a_path_that_its_effects_do_not_name(lines: list[str], end: str) -> None:
    text = end.join(lines)
    try:
        operations = v4a.parse(text)
    except ToolError:
        return
    touched = {path for each in operations for path in (each.path, each.move_to) if path}
    assert touched <= set(v4a.paths(text))


UNIQUE = st.lists(st.text("abc ", max_size=4), min_size=1, max_size=12).map(
    lambda lines: [f"{number}:{line}" for number, line in enumerate(lines)]
)


@given(UNIQUE, st.data(), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_patch_made_of_a_change_makes_that_change(
    lines: list[str], data: st.DataObject, newline: str, ends: bool
) -> None:
    # A single line without an end does not say how lines end here.
    ends = ends or len(lines) == 1
    at = data.draw(st.integers(0, len(lines) - 1))
    fresh = data.draw(st.lists(st.text("xyz\\n", max_size=3), max_size=3))
    hunk = [f" {line}" for line in lines[:at]] + [f"-{lines[at]}"] + [f"+{line}" for line in fresh]
    after = lines[:at] + fresh + lines[at + 1 :]
    tail = newline if ends else ""
    done = apply(newline.join(lines) + tail, "@@\n" + "\n".join(hunk))
    assert done == newline.join(after) + (tail if after else "")
