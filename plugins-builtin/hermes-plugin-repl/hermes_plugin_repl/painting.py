"""Draws with rich: Markdown, code and diffs become text with colours. Imported on the first answer."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final, Literal

from rich.console import Console
from rich.markdown import Heading, HorizontalRule, Markdown
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

from .blocks import Block
from .skins import Palette

_TRAILING: Final = re.compile(r" +((?:\x1b\[[0-9;]*m)*)$", re.MULTILINE)
_CODES: Final = re.compile(r"\x1b\[[0-9;]*m")
_DIFF: Final = {"+": "added", "-": "removed", "@": "hunk"}
_SYSTEMS: Final[dict[int, Literal["standard", "256", "truecolor"]]] = {
    16: "standard",
    256: "256",
    1 << 24: "truecolor",
}
_THEME: Final = {
    "markdown.h1": "heading",
    "markdown.h2": "heading",
    "markdown.h3": "heading",
    "markdown.h4": "heading",
    "markdown.h5": "heading",
    "markdown.h6": "heading",
    "markdown.h7": "heading",
    "markdown.item.bullet": "accent",
    "markdown.item.number": "accent",
    "markdown.hr": "status",
    "markdown.block_quote": "status",
    "markdown.code": "code",
    "markdown.link": "link",
    "markdown.link_url": "link",
    "markdown.table.border": "status",
    "markdown.table.header": "heading",
}
"""rich's names, and the kinds of a skin that they are drawn as."""


class _PlainHeading(Heading):
    """At the left, without a box."""

    def __rich_console__(self, console: object, options: object):  # type: ignore[no-untyped-def]
        text = self.text.copy()
        text.justify = "left"
        yield text


class _ShortRule(HorizontalRule):
    """Not as wide as the terminal, so that it survives a resize."""

    def __rich_console__(self, console: object, options: object):  # type: ignore[no-untyped-def]
        yield Text("─" * 20, style="markdown.hr")


class _Page(Markdown):
    elements = {  # noqa: RUF012
        **Markdown.elements,
        "heading_open": _PlainHeading,
        "hr": _ShortRule,
    }


class Painter:
    """Draws blocks for a terminal of some width."""

    def __init__(self, palette: Palette) -> None:
        self._palette = palette
        self._lexers: dict[str, Syntax] = {}
        self._code_theme = "ansi_light" if palette.syntax == "light" else "ansi_dark"
        self._console = Console(
            file=io.StringIO(),
            force_terminal=True,
            color_system=_SYSTEMS.get(palette.colours),
            no_color=not palette.colours,
            theme=Theme({name: palette.for_rich(kind) for name, kind in _THEME.items()}),
            legacy_windows=False,
            highlight=False,
        )

    def blocks(self, blocks: Sequence[Block], width: int) -> str:
        """The blocks, one below the other, each line ended."""
        self._console.width = max(20, width)
        parts: list[str] = []
        for (is_code, language), group in groupby(
            blocks, key=lambda one: (one.kind == "code", one.language)
        ):
            if is_code:
                parts.append(self._code(list(group), language))
            else:
                parts += [("\n" if one.gap else "") + self._markdown(one.text) for one in group]
        return "".join(parts)

    def _markdown(self, text: str) -> str:
        page = _Page(text, code_theme=self._code_theme, hyperlinks=False)
        lines = self._drawn(page).split("\n")
        while lines and not _CODES.sub("", lines[-1]).strip():
            lines.pop()
        while lines and not _CODES.sub("", lines[0]).strip():
            lines.pop(0)
        return "\n".join(lines) + "\n"

    def _code(self, lines: Sequence[Block], language: str) -> str:
        text = "\n".join(one.text for one in lines)
        body = Text(text)
        if self._palette.colours and language and self._palette.syntax != "none":
            if language not in self._lexers:
                self._lexers[language] = Syntax(
                    "", language, theme=self._code_theme, background_color="default"
                )
            body = self._lexers[language].highlight(text)
        with self._console.capture() as captured:
            self._console.print(body, soft_wrap=True, end="")
        drawn = captured.get().rstrip("\n").split("\n")
        drawn += [""] * (len(lines) - len(drawn))
        gap = "\n" if lines[0].gap else ""
        return gap + "".join(f"  {line}\n" for line in drawn)

    def _drawn(self, page: Markdown) -> str:
        with self._console.capture() as captured:
            self._console.print(page, end="")
        return _TRAILING.sub(r"\1", captured.get())

    def result(self, text: str) -> str:
        """What a tool returned, indented; a unified diff in it has its colours."""
        kinds: Mapping[str, str] = {}
        drawn: list[str] = []
        for line in text.rstrip("\n").split("\n"):
            if line.startswith("@@ -"):
                kinds = _DIFF
            kind = kinds.get(line[:1], "")
            drawn.append(f"    {self._palette.paint(kind, line) if kind else line}\n")
        return "".join(drawn)
