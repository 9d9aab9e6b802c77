"""Skins: the colours of each kind of text, built in or from ``skins/NAME.toml`` in the home.

A style is words: ``bold dim italic underline reverse`` and at most one colour, a name (``red``,
``bright-red``, ``grey``) or ``#rrggbb``. "" is the terminal's own. A skin changes colours, nothing else.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Literal

import msgspec

_CODES: Final = {"bold": 1, "dim": 2, "italic": 3, "underline": 4, "reverse": 7}
_NAMES: Final = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_GREY: Final = "#888888"
_HEX: Final = re.compile(r"#[0-9a-f]{6}")


class Skin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A style for each kind of text."""

    prompt: str = "bold"
    you: str = "bold"
    """What the person said."""
    status: str = "grey"
    """The status line, and words about what is going on."""
    thought: str = "grey italic"
    ok: str = "green"
    failed: str = "red"
    warning: str = "yellow"
    heading: str = "bold"
    accent: str = "bold"
    """Bullets, numbers and rules of an answer."""
    code: str = "cyan"
    """Code inside a line; blocks of code follow ``syntax``."""
    link: str = "blue underline"
    added: str = "green"
    removed: str = "red"
    hunk: str = "cyan"
    """The line numbers of a diff."""
    syntax: Literal["dark", "light", "none"] = "dark"
    """The background that the colours of code are made for."""


BUILT_IN: Final = {
    "default": Skin(),
    "light": Skin(
        status="#6a6a6a",
        thought="#6a6a6a italic",
        warning="#9a5b00",
        code="#8a2252",
        added="#116329",
        removed="#a40e26",
        hunk="#0550ae",
        syntax="light",
    ),
    "ocean": Skin(
        prompt="bold #5fafff",
        you="bold #87d7ff",
        ok="#5fd7af",
        heading="bold #5fafff",
        accent="#5fd7d7",
        code="#87d7d7",
        link="#5fafff underline",
        hunk="#5fafff",
    ),
    "ember": Skin(
        prompt="bold #ff8700",
        you="bold #ffaf5f",
        ok="#afd75f",
        failed="#ff5f5f",
        warning="#ffd75f",
        heading="bold #ff8700",
        accent="#ffaf00",
        code="#ffd787",
        link="#ffaf5f underline",
        hunk="#d7875f",
    ),
    "mono": Skin(
        status="dim",
        thought="dim italic",
        ok="",
        failed="bold",
        warning="bold",
        code="underline",
        link="underline",
        added="bold",
        removed="dim",
        hunk="underline",
        syntax="none",
    ),
}


class Style(msgspec.Struct, frozen=True):
    """A style that was read: codes of its words, and its colour as a name or ``#rrggbb``."""

    words: tuple[str, ...] = ()
    colour: str = ""


def find_skin(name: str, folder: Path) -> tuple[Skin, str]:
    """The skin of that name, and a line for the person where the usual one has to stand in for it."""
    if name in BUILT_IN:
        return BUILT_IN[name], ""
    file = folder / f"{name}.toml"
    try:
        skin = msgspec.toml.decode(file.read_bytes(), type=Skin)
        for field in skin.__struct_fields__:
            if field != "syntax":
                parse(str(getattr(skin, field)), field)
    except FileNotFoundError:
        there = ", ".join([*BUILT_IN, *sorted(one.stem for one in folder.glob("*.toml"))])
        return BUILT_IN["default"], f"There is no skin {name!r} (display.skin). There is: {there}."
    except (OSError, ValueError) as error:  # msgspec's errors are ValueErrors
        said = " ".join(str(error).split())
        return BUILT_IN["default"], f"The skin {file} is not used: {said}"
    return skin, ""


def parse(text: str, field: str = "") -> Style:
    """Read a style.

    Raises:
        ValueError: a word is none of a style's; says which, and of what field.
    """
    words: list[str] = []
    colour = ""
    for word in text.lower().split():
        plain = word.removeprefix("bright-")
        if word in _CODES:
            words.append(word)
        elif colour:
            raise ValueError(f"{field}: {text!r} names two colours.")
        elif _HEX.fullmatch(word) or word == "grey" or plain in _NAMES:
            colour = word
        else:
            known = f"{', '.join(_CODES)}, {', '.join(_NAMES)}, grey, bright-… or #rrggbb"
            raise ValueError(f"{field}: {word!r} is no style. There is: {known}.")
    return Style(tuple(words), _GREY if colour == "grey" else colour)


class Palette:
    """A skin for a terminal with so many colours: 0, 16, 256 or 16,777,216."""

    def __init__(self, skin: Skin, colours: int) -> None:
        self.colours = colours
        self.syntax = skin.syntax
        self._styles = {
            field: parse(getattr(skin, field))
            for field in skin.__struct_fields__
            if field != "syntax"
        }
        self._codes = {field: sgr(style, colours) for field, style in self._styles.items()}

    def paint(self, kind: str, text: str) -> str:
        """The text in the style of a kind, each line by itself."""
        codes = self._codes[kind] if self.colours else ""
        if not codes:
            return text
        return "\n".join(
            f"\x1b[{codes}m{line}\x1b[0m" if line else line for line in text.split("\n")
        )

    def for_prompt_toolkit(self) -> dict[str, str]:
        """Style strings of prompt_toolkit, by kind."""
        return {kind: " ".join(_toolkit_words(style)) for kind, style in self._styles.items()}

    def for_rich(self, kind: str) -> str:
        """A style string of rich."""
        style = self._styles[kind]
        return " ".join([*style.words, style.colour.replace("-", "_")]).strip() or "none"


def colours_of(*, no_color: bool, term: str, colorterm: str) -> int:
    """How many colours a terminal shows, as the environment tells."""
    if no_color:
        return 0
    if colorterm.lower() in ("truecolor", "24bit"):
        return 1 << 24
    return 256 if "256" in term else 16


def sgr(style: Style, colours: int) -> str:
    """The parameters of the escape sequence (ECMA-48 SGR), "" for none."""
    codes = [str(_CODES[word]) for word in style.words]
    if style.colour.startswith("#"):
        codes.append(_hex_code(style.colour, colours))
    elif style.colour:
        name = style.colour.removeprefix("bright-")
        first = 90 if style.colour.startswith("bright-") else 30
        codes.append(str(first + _NAMES.index(name)))
    return ";".join(filter(None, codes))


def _hex_code(colour: str, colours: int) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    if colours > 256:
        return f"38;2;{red};{green};{blue}"
    if red == green == blue:  # xterm's 24 steps of grey, from 8 on by 10
        return f"38;5;{232 + min(23, max(0, (red - 3) // 10))}"
    # xterm's cube: 0, 95, 135, 175, 215, 255 of each.
    cube = [0 if one < 48 else min(5, max(1, (one - 35) // 40)) for one in (red, green, blue)]
    return f"38;5;{16 + 36 * cube[0] + 6 * cube[1] + cube[2]}"


def _toolkit_words(style: Style) -> list[str]:
    words = [word for word in style.words if word != "dim"]  # younger than what we need of it
    if style.colour.startswith("#"):
        return [*words, style.colour]
    name = style.colour
    if "dim" in style.words and not name:
        return [*words, _GREY]
    if not name:
        return words
    bright = name.startswith("bright-")
    usual = {"white": "gray", "bright-white": "white", "bright-black": "brightblack"}
    plain = usual.get(name, name.removeprefix("bright-"))
    return [*words, f"ansi{'bright' if bright and name not in usual else ''}{plain}"]
