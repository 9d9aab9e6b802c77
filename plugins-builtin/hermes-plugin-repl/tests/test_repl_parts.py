"""The parts of the REPL that need no terminal: blocks, drafts, completion, what may be written."""

from __future__ import annotations

import base64
import io
import os
import time
from pathlib import Path

import pytest
from hermes_plugin_repl.blocks import LONGEST, Block, Blocks
from hermes_plugin_repl.cleaning import last_rows, one_line, safe, wrapped
from hermes_plugin_repl.clipboard import clipboard_image
from hermes_plugin_repl.completing import PromptCompleter
from hermes_plugin_repl.drafting import FILE_CHARS, Pastes
from hermes_plugin_repl.images import MOST_BYTES, NotAnImage, media_type
from hermes_plugin_repl.painting import Painter
from hermes_plugin_repl.skins import BUILT_IN, Palette, Skin, find_skin, parse, sgr
from hermes_plugin_repl.status import Facts, status_line
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.styles import Style as ToolkitStyle

from hermes_plugins import ImagePart, SessionStatus, TextPart

PLAIN = Palette(BUILT_IN["default"], 0)
COLOURED = Palette(BUILT_IN["default"], 256)

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
    painter = Painter(PLAIN)
    drawn = painter.blocks(cut("# H\n\ntext\n\n```py\n    if x:  # long\n```\n"), 40)
    assert drawn == "\nH\n\ntext\n\n      if x:  # long\n"


def test_a_long_line_of_code_is_not_broken() -> None:
    line = "x = " + "1 + " * 50 + "1"
    assert line in Painter(PLAIN).blocks(cut(f"```python\n{line}\n```"), 40)


def test_a_long_answer_costs_less_than_a_millisecond_a_line_and_stays_flat() -> None:
    painter, blocks = Painter(COLOURED), Blocks()
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
    draft = Pastes().compose(text, tmp_path)
    first, *others = draft.message.parts
    assert first == TextPart(text)
    assert others[1] == TextPart('\n\n<file path="b c.txt">\nB\n</file>')
    assert len(others) == len(draft.notes) == 3
    assert not draft.has_image


def test_a_large_file_is_cut_and_a_binary_one_only_named(tmp_path: Path) -> None:
    (tmp_path / "big").write_text("x" * (FILE_CHARS + 5), encoding="utf-8")
    (tmp_path / "raw").write_bytes(b"\xff\xfe\x00")
    draft = Pastes().compose("@big @raw", tmp_path)
    assert len(draft.message.text) < FILE_CHARS + 100
    assert draft.notes == (
        f"with big, {FILE_CHARS:,} characters (its first {FILE_CHARS:,} characters)",
        "raw is no text that can be read; only its name is sent.",
    )


# -- images ----------------------------------------------------------------------------

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00\xff" * 20
PNG_URL = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"


@pytest.mark.parametrize(
    ("begin", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF\x10\x00\x00\x00WAVEfmt ", ""),
        (b"BM", ""),
    ],
)
def test_the_kind_of_an_image_is_read_from_its_first_bytes(begin: bytes, kind: str) -> None:
    assert media_type(begin + b"rest") == kind


@pytest.mark.parametrize("write", ["{}", "'{}'", '"{}"', "file://{}", "  {}\n"])
def test_a_pasted_path_of_an_image_becomes_a_part_of_the_message(
    tmp_path: Path, write: str
) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    pastes = Pastes()
    mark = pastes.take(write.format((tmp_path / "a.png").as_posix()))
    assert mark == "[image 1: a.png]"
    draft = pastes.compose(f"what is {mark}?", tmp_path)
    assert draft.message.parts == (
        TextPart(f"what is {mark}?"),
        ImagePart(media_type="image/png", data=base64.b64encode(PNG).decode()),
    )
    assert draft.notes == ("with a.png, 1 KB",)


@pytest.mark.skipif(os.name == "nt", reason="a backslash is part of a path there")
def test_paths_with_spaces_come_as_terminals_write_them(tmp_path: Path) -> None:
    (tmp_path / "my cat.png").write_bytes(PNG)
    (tmp_path / "b.png").write_bytes(PNG)
    cat = tmp_path / "my cat.png"
    escaped = str(cat).replace(" ", "\\ ")
    for text in (str(cat), escaped, f"{escaped} {tmp_path / 'b.png'}", cat.as_uri()):
        assert Pastes().take(text).startswith("[image 1: my cat.png]")


def test_image_data_is_taken_as_an_address_or_as_bytes(tmp_path: Path) -> None:
    pastes = Pastes()
    assert pastes.take(PNG_URL) == "[image 1: pasted image]"
    raw = PNG.decode("utf-8", "surrogateescape")  # as a terminal's input is decoded
    assert pastes.take(raw) == "[image 2: pasted image]"
    _, *images = pastes.compose("[image 1] [image 2]", tmp_path).message.parts
    assert [base64.b64decode(one.data) for one in images if isinstance(one, ImagePart)] == [
        PNG,
        PNG,
    ]


def test_what_is_no_image_stays_the_text_that_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    for text in ("a.png", "/nowhere/a.png", str(tmp_path / "notes.txt"), "it's in /tmp/a.png"):
        assert Pastes().take(text) == text


def test_an_image_that_cannot_be_sent_says_why(tmp_path: Path) -> None:
    (tmp_path / "big.png").write_bytes(PNG + b"\x00" * MOST_BYTES)
    (tmp_path / "fake.png").write_text("text", encoding="utf-8")
    with pytest.raises(NotAnImage, match=r"^big.png has 3.9 MB; at most 3.9 MB can be sent."):
        Pastes().take(str(tmp_path / "big.png"))
    draft = Pastes().compose("@fake.png @big.png", tmp_path)
    assert draft.notes[0] == "fake.png is no PNG, JPEG, GIF or WebP. Only its name is sent."
    assert not draft.has_image


def test_an_image_or_a_paste_of_an_earlier_session_is_said_to_be_gone(tmp_path: Path) -> None:
    draft = Pastes().compose("[image 4: a.png] [pasted text 1: 50 lines] [image 5]", tmp_path)
    assert draft.notes == (
        "image 4 is not kept any more; only its name is sent.",
        "A pasted text of an earlier session is not kept; only its mark is sent.",
    )


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    return folder


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="the programs are scripts of a POSIX shell")
def test_the_clipboard_is_read_with_the_program_that_is_there(
    tmp_path: Path, programs: Path
) -> None:
    (tmp_path / "clip.png").write_bytes(PNG)
    environ = {"PATH": f"{programs}:/usr/bin:/bin", "DISPLAY": ":9"}
    with pytest.raises(NotAnImage, match="install wl-clipboard"):
        clipboard_image({**environ, "PATH": str(programs)})
    script(programs / "xclip", "exit 1")
    with pytest.raises(NotAnImage, match=r"^There is no image in the clipboard\.$"):
        clipboard_image(environ)
    script(programs / "xclip", f'case "$*" in *image/png*) cat {tmp_path}/clip.png;; esac')
    assert clipboard_image(environ).data == PNG
    script(programs / "wl-paste", "echo not an image, and it has failed; exit 1")
    assert clipboard_image({**environ, "WAYLAND_DISPLAY": "wayland-0"}).data == PNG
    script(programs / "osascript", f"echo '«data PNGf{PNG.hex().upper()}»'")
    assert clipboard_image({"PATH": environ["PATH"]}).data == PNG
    (programs / "osascript").unlink()
    script(programs / "powershell.exe", f"echo {base64.b64encode(PNG).decode()}")
    assert clipboard_image({"PATH": environ["PATH"]}).data == PNG


# -- skins -----------------------------------------------------------------------------


def test_every_built_in_skin_can_be_drawn_everywhere() -> None:
    for skin in BUILT_IN.values():
        for colours in (0, 16, 256, 1 << 24):
            palette = Palette(skin, colours)
            painter = Painter(palette)
            text = "# H\n\n`c` [l](x)\n\n- a\n\n> q\n\n---\n\n```py\nx = 1\n```\n"
            drawn = painter.blocks(cut(text), 80)
            assert ("\x1b[" in drawn) == (colours > 0)
            ToolkitStyle.from_dict(palette.for_prompt_toolkit())


def test_a_colour_becomes_what_the_terminal_can_show() -> None:
    orange = parse("bold #ff8700")
    assert sgr(orange, 1 << 24) == "1;38;2;255;135;0"
    assert sgr(orange, 256) == "1;38;5;208"
    assert sgr(parse("bright-red"), 16) == "91"
    assert Palette(Skin(ok="red"), 0).paint("ok", "x") == "x"
    assert (
        Palette(Skin(ok="red"), 16).paint("ok", "a\n\nb") == "\x1b[31ma\x1b[0m\n\n\x1b[31mb\x1b[0m"
    )


def test_a_skin_of_the_home_is_read_and_a_wrong_one_says_what_is_wrong(tmp_path: Path) -> None:
    def found(text: str) -> tuple[Skin, str]:
        (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
        return find_skin("mine", tmp_path)

    assert found('ok = "bold #00ff00"\nsyntax = "light"\n') == (
        Skin(ok="bold #00ff00", syntax="light"),
        "",
    )
    assert found("") == (Skin(), "")
    for text, said in {
        'ok = "purpel"': "ok: 'purpel' is no style. There is: bold, ",
        'ok = "red blue"': "ok: 'red blue' names two colours.",
        'okay = "red"': "unknown field `okay`",
        "ok = 1": "Expected `str`",
        "ok = #00ff00": "mine.toml is not used: ",
    }.items():
        skin, note = found(text)
        assert skin == Skin()
        assert said in note
        assert "\n" not in note
    note = find_skin("nope", tmp_path)[1]
    assert note == (
        "There is no skin 'nope' (display.skin). "
        "There is: default, light, ocean, ember, mono, mine."
    )


# -- the status line -------------------------------------------------------------------


def test_the_approvals_mode_stays_in_the_narrowest_status_line() -> None:
    status = SessionStatus(mode="off", max_turns=90, context_length=128_000, context_used=12_800)
    facts = Facts(model="openrouter/some/model", status=status, cost=0.5, call=3, is_working=True)

    def line(width: int) -> str:
        return "".join(one[1] for one in status_line(facts, width))

    assert line(200) == (
        "openrouter/some/model · 13k of 128k tokens (10%) · $0.5000 · call 3 of 90 · approvals off"
        " · Esc interrupts"
    )
    for width in range(16, 120):
        assert len(line(width)) < width
        assert line(width).rpartition("approvals ")[2].startswith("off")


# -- wrapping --------------------------------------------------------------------------


def test_lines_are_broken_between_words_and_long_words_are_left() -> None:
    assert wrapped("one two three", 9) == "one two\n  three"
    assert wrapped("  a bb cc dd", 10) == "  a bb cc\n   dd"
    path = "/a/very/long/path/that/is/longer"
    assert wrapped(path, 10) == path


def test_the_end_of_a_growing_text_is_shown_in_rows() -> None:
    text = ""
    for word in range(3000):
        text += f"word{word} "
        rows = last_rows(text, 40, 6)
        assert len(rows) <= 6
        assert all(len(row) <= 40 for row in rows)
        assert rows[-1].split()[-1] == f"word{word}"
    assert last_rows("日本語" * 4, 10, 6) == ["日本語日本", "語日本語日", "本語"]
    assert last_rows("", 40, 6) == [""]


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
    (tmp_path / "my cat.png").touch()
    assert offered("see @m") == ['@"my cat.png"']
    assert offered('see @"my c') == ['@"my cat.png"']
    assert offered("/save src/") == ["src/main.py"]
