"""Bytes to text and back."""

from __future__ import annotations

import codecs

import pytest
from hermes_plugin_file.text import (
    Text,
    adapt_newlines,
    decode,
    encode,
    image_kind,
    newline_of,
    split_lines,
)
from hypothesis import given
from hypothesis import strategies as st

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


@given(TEXT)
def test_utf_8_comes_back_byte_for_byte(body: str) -> None:
    data = body.encode()
    text = decode(data)
    if text is None:
        assert image_kind(data)
    else:
        assert encode(text.body, text) == data


@given(
    TEXT,
    st.sampled_from(
        [
            ("utf-8", codecs.BOM_UTF8),
            ("utf-16-le", codecs.BOM_UTF16_LE),
            ("utf-16-be", codecs.BOM_UTF16_BE),
            ("utf-32-le", codecs.BOM_UTF32_LE),
            ("utf-32-be", codecs.BOM_UTF32_BE),
        ]
    ),
)
def test_a_byte_order_mark_is_not_text_and_comes_back(body: str, form: tuple[str, bytes]) -> None:
    encoding, mark = form
    text = decode(mark + body.encode(encoding))
    assert text == Text(body, encoding, mark)
    assert encode(text.body, text) == mark + body.encode(encoding)


@given(st.binary())
def test_what_is_text_comes_back_byte_for_byte(data: bytes) -> None:
    text = decode(data)
    assert text is None or encode(text.body, text) == data


@pytest.mark.parametrize("size", [999, 1000, 1001, 8190, 8191, 8192, 8193, 65536])
def test_a_character_across_any_boundary_stays_text(size: int) -> None:
    data = b"a" * (size - 1) + "é漢😀".encode() + b"\n"
    text = decode(data)
    assert text is not None
    assert text.body.endswith("é漢😀\n")


@pytest.mark.parametrize(
    ("data", "encoding", "body"),
    [
        (b"caf\xe9 \x93quoted\x94\n", "cp1252", "café “quoted”\n"),
        (b"caf\xe9 \x81\n", "latin-1", "caf\xe9 \x81\n"),
        (b"", "utf-8", ""),
        (b"\x1b[31mred\x1b[0m\n", "utf-8", "\x1b[31mred\x1b[0m\n"),
    ],
)
def test_other_text_is_read_without_loss(data: bytes, encoding: str, body: str) -> None:
    text = decode(data)
    assert text is not None
    assert (text.encoding, text.body) == (encoding, body)
    assert encode(text.body, text) == data


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF\x02\x01\x01\x00\x00",
        b"a\x00b\x00c\x00",
        b"\xff\xfe\x00\xd8",
        bytes(range(128, 256)) + bytes(range(1, 32)) * 4,
        b"\x89PNG\r\n\x1a\n rest",
        b"GIF89a rest",
        b"RIFF....WEBPVP8 ",
    ],
)
def test_binary_is_not_text(data: bytes) -> None:
    assert decode(data) is None


@pytest.mark.parametrize("body", ["BM is how it begins\n", "II and more\n", "RIFF raff\n"])
def test_text_that_begins_like_an_image_is_text(body: str) -> None:
    assert decode(body.encode()) == Text(body)


@pytest.mark.parametrize(
    ("body", "newline", "mixed"),
    [
        ("", "", False),
        ("one line", "", False),
        ("a\nb\n", "\n", False),
        ("a\r\nb\r\n", "\r\n", False),
        ("a\rb\r", "\r", False),
        ("a\r\nb\r\nc\n", "\r\n", True),
        ("a\nb\nc\r\n", "\n", True),
        ("progress\rdone\n", "\n", False),
    ],
)
def test_line_ends_are_recognised(body: str, newline: str, mixed: bool) -> None:
    assert newline_of(body) == newline
    assert Text(body).mixed is mixed


def test_only_line_ends_part_lines() -> None:
    assert split_lines("a\x0cb\u2028c\x85d\r\ne\n\nf") == ["a\x0cb\u2028c\x85d", "e", "", "f"]


def test_adapting_changes_line_ends_and_nothing_else() -> None:
    assert adapt_newlines("a\\r\\n\nb\r\n", "\r\n") == "a\\r\\n\r\nb\r\n"
    assert adapt_newlines("a\r\nb\n", "\n") == "a\nb\n"
