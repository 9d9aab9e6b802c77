"""The parts of the REPL that need no terminal: blocks, drafts, completion, what may be written."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest
from hermes_plugin_repl.blocks import LONGEST, Block, Blocks
from hermes_plugin_repl.cleaning import one_line, safe
from hermes_plugin_repl.completing import PromptCompleter
from hermes_plugin_repl.drafting import FILE_CHARS, Pastes, with_files
from hermes_plugin_repl.painting import Painter
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

# -- blocks ----------------------------------------------------------------------------


def cut(text: str, *, size: int = 3) -> list[Block]:
    blocks = Blocks()
    found: list[Block] = []
    stream = io.StringIO(text)
    while piece := stream.read(size):
        found += blocks.feed(piece)
    return [*found, *blocks.end()]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("a\nb\n\nc", [("text", "a\nb"), ("text", "c")]),
        ("# H\ntext", [("text", "# H"), ("text", "text")]),
        (
            "- a\n- b\n  - c\n  more\n- d",
            [("item", "- a"), ("item", "- b\n  - c\n  more"), ("item", "- d")],
        ),
        ("1. a\n\n   more\n\nend", [("item", "1. a\n\n   more"), ("text", "end")]),
        ("```py\na\n\nb\n```\nc", [("code", "a"), ("code", ""), ("code", "b"), ("text", "c")]),
        ("````\n```\n````", [("code", "```")]),
        ("~~~\n# no heading", [("code", "# no heading")]),
        ("|a|\n|-|\n|1|\n\nx", [("text", "|a|\n|-|\n|1|"), ("text", "x")]),
        ("text:\n- a", [("text", "text:"), ("item", "- a")]),
    ],
)
def test_a_block_is_finished_when_nothing_can_change_it(
    text: str, blocks: list[tuple[str, str]]
) -> None:
    for size in (1, 3, 1000):
        assert [(one.kind, one.text) for one in cut(text, size=size)] == blocks


def test_items_of_a_list_stand_together_and_other_blocks_apart() -> None:
    gaps = [one.gap for one in cut("text\n\n- a\n- b\n\n- c\n\n```\nx\ny\n```\n")]
    assert gaps == [True, True, False, True, True, False]


def test_a_block_that_never_ends_is_cut_and_what_is_open_stays_small() -> None:
    blocks = Blocks()
    found = blocks.feed("word\n" * (3 * LONGEST + 5))
    assert len(found) == 3
    assert blocks.open.count("\n") < 12


# -- drawing ---------------------------------------------------------------------------


def test_nothing_is_padded_and_code_is_as_it_was_written() -> None:
    painter = Painter(colours=False)
    drawn = painter.blocks(cut("# H\n\ntext\n\n```py\n    if x:  # long\n```\n"), 40)
    assert drawn == "\nH\n\ntext\n\n      if x:  # long\n"


def test_a_long_line_of_code_is_not_broken() -> None:
    line = "x = " + "1 + " * 50 + "1"
    assert line in Painter(colours=False).blocks(cut(f"```python\n{line}\n```"), 40)


def test_a_long_answer_costs_less_than_a_millisecond_a_line_and_stays_flat() -> None:
    painter, blocks = Painter(colours=True), Blocks()
    painter.blocks(cut("```python\nx = 1\n```\n\ntext"), 100)
    costs = []
    for thousand in range(5):
        text = "".join(
            f"Line {line} with **bold** and `code`.\n\n- item {line}\n\n```python\nx = {line}\n```\n"
            for line in range(thousand * 140, (thousand + 1) * 140)
        )
        began = time.process_time()
        stream = io.StringIO(text)
        while piece := stream.read(200):
            if found := blocks.feed(piece):
                painter.blocks(found, 100)
        costs.append((time.process_time() - began) / text.count("\n"))
    assert max(costs) < 0.001
    assert costs[-1] < 3 * costs[0]


@pytest.mark.parametrize(
    ("text", "left"),
    [("a\x1b[2Jb", "ab"), ("\x1b]0;title\x07x", "x"), ("a\tb", "a   b"), ("a\r\nb\x07", "a\nb")],
)
def test_what_could_steer_the_terminal_is_taken_out(text: str, left: str) -> None:
    assert safe(text) == left


def test_a_line_is_cut_by_columns() -> None:
    assert one_line("a\n b", 10) == "a b"
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("日本語日本語", 7) == "日本語…"


# -- drafts ----------------------------------------------------------------------------


def test_a_short_paste_is_text_and_a_long_one_a_mark_that_comes_back() -> None:
    pastes = Pastes()
    assert pastes.shorten("a\r\nb") == "a\nb"
    long = "x\n" * 10
    mark = pastes.shorten(long)
    assert mark == "[pasted text 1: 11 lines]"
    assert pastes.shorten("y" * 2000) == "[pasted text 2: 2,000 characters]"
    assert pastes.restore(f"see {mark} and [pasted text 7: 3 lines]") == (
        f"see {long} and [pasted text 7: 3 lines]"
    )


def test_files_are_brought_along_once_each_and_other_words_are_left(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A\n", encoding="utf-8")
    (tmp_path / "b c.txt").write_text("B", encoding="utf-8")
    text = 'look at @a.txt, @"b c.txt" and @a.txt; me@a.txt @nobody'
    sent, notes = with_files(text, tmp_path)
    assert sent.startswith(text + "\n\n")
    assert sent.count("<file path=") == 3
    assert '<file path="b c.txt">\nB\n</file>' in sent
    assert len(notes) == 3


def test_a_large_file_is_cut_and_a_binary_one_only_named(tmp_path: Path) -> None:
    (tmp_path / "big").write_text("x" * (FILE_CHARS + 5), encoding="utf-8")
    (tmp_path / "raw").write_bytes(b"\xff\xfe\x00")
    sent, notes = with_files("@big @raw", tmp_path)
    assert len(sent) < FILE_CHARS + 100
    assert notes == [
        f"with big, {FILE_CHARS:,} characters (its first {FILE_CHARS:,} characters)",
        "raw is no text that can be read; only its name is sent.",
    ]


# -- completion ------------------------------------------------------------------------


def test_paths_are_completed_behind_an_at_only(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.py").touch()
    (tmp_path / ".hidden").touch()
    completer = PromptCompleter(commands=list, offers=lambda name: [], folder=tmp_path)

    def offered(text: str) -> list[str]:
        event = CompleteEvent(text_inserted=True)
        return [one.text for one in completer.get_completions(Document(text), event)]

    assert offered("see @") == ["@src/"]
    assert offered("see @src/m") == ["@src/main.py"]
    assert offered("see @.h") == ["@.hidden"]
    assert offered("see src") == offered("@src ") == offered("@nowhere/") == []
