"""Draws with rich: Markdown, code and diffs become text with colours. Imported on the first answer."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from itertools import groupby
from typing import Final

from rich.console import Console
from rich.markdown import Heading, Markdown
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

from .blocks import Block

_THEME: Final = Theme(
    {
        "markdown.h1": "bold underline",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.code": "cyan",
        "markdown.link": "blue",
        "markdown.link_url": "blue underline",
    }
)
_TRAILING: Final = re.compile(r" +((?:\x1b\[[0-9;]*m)*)$", re.MULTILINE)
_CODES: Final = re.compile(r"\x1b\[[0-9;]*m")
_DIFF: Final = {"+": "32", "-": "31", "@": "36"}


class _PlainHeading(Heading):
    """At the left, without a box."""

    def __rich_console__(self, console: object, options: object):  # type: ignore[no-untyped-def]
        text = self.text.copy()
        text.justify = "left"
        yield text


class _Page(Markdown):
    elements = {**Markdown.elements, "heading_open": _PlainHeading}  # noqa: RUF012


class Painter:
    """Draws blocks for a terminal of some width."""

    def __init__(self, *, colours: bool) -> None:
        self._colours = colours
        self._lexers: dict[str, Syntax] = {}
        self._console = Console(
            file=io.StringIO(),
            force_terminal=True,
            color_system="standard" if colours else None,
            no_color=not colours,
            theme=_THEME,
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
        page = _Page(text, code_theme="ansi_dark", hyperlinks=False)
        lines = self._drawn(page).split("\n")
        while lines and not _CODES.sub("", lines[-1]).strip():
            lines.pop()
        while lines and not _CODES.sub("", lines[0]).strip():
            lines.pop(0)
        return "\n".join(lines) + "\n"

    def _code(self, lines: Sequence[Block], language: str) -> str:
        text = "\n".join(one.text for one in lines)
        body = Text(text)
        if self._colours and language:
            if language not in self._lexers:
                self._lexers[language] = Syntax(
                    "", language, theme="ansi_dark", background_color="default"
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

    def diff(self, text: str) -> str:
        """A unified diff, or any text, line by line in its colours."""
        return "".join(f"    {self._diff_line(line)}\n" for line in text.split("\n"))

    def _diff_line(self, line: str) -> str:
        colour = _DIFF.get(line[:1], "")
        return f"\x1b[{colour}m{line}\x1b[0m" if colour and self._colours else line
