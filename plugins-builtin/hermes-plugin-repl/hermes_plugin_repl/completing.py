"""Completion at the prompt: slash commands and what may stand behind them, and ``@`` paths."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from hermes_plugins import SlashCommand

MOST: Final = 200
"""Names of a folder that are offered."""
_TAKE_PATHS: Final = ("save",)
"""Commands with a path behind them."""
_BEGUN: Final = re.compile(r"(?<!\S)@(\"[^\"\n]*|[^\s\"]*)$")

Offers = Callable[[str], Sequence[tuple[str, str]]]
"""Name of a command -> what may stand behind it, each with a word about it."""


class PromptCompleter(Completer):
    """Completes the line up to the cursor."""

    def __init__(
        self, *, commands: Callable[[], Sequence[SlashCommand]], offers: Offers, folder: Path
    ) -> None:
        self._commands = commands
        self._offers = offers
        self._folder = folder

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
        before = document.text_before_cursor
        if before.startswith("/") and "\n" not in before:
            name, space, rest = before[1:].partition(" ")
            if not space:
                return self._names(name)
            if name.lower() in _TAKE_PATHS:
                return self._plain_paths(rest.lstrip())
            return [*self._arguments(name, rest.lstrip()), *self._paths(before)]
        return self._paths(before)

    def _names(self, begun: str) -> list[Completion]:
        return [
            Completion(
                f"/{one.name}", start_position=-len(begun) - 1, display_meta=one.help.rstrip(".")
            )
            for one in self._commands()
            if any(label.startswith(begun.lower()) for label in (one.name, *one.aliases))
        ]

    def _arguments(self, name: str, begun: str) -> list[Completion]:
        word = begun.casefold()
        return [
            Completion(value, start_position=-len(begun), display_meta=meta)
            for value, meta in self._offers(name.lower())
            if word in value.casefold() or word in meta.casefold()
        ]

    def _paths(self, before: str) -> list[Completion]:
        """``@src/ma`` -> the names in ``src`` that begin with ``ma``; in quotes where they need them."""
        begun = _BEGUN.search(before)
        if begun is None:
            return []
        written = begun[1]
        return [
            Completion(f'@"{path}"' if " " in path else f"@{path}", start_position=-len(begun[0]))
            for path in self._below(written.lstrip('"'))
        ]

    def _plain_paths(self, begun: str) -> list[Completion]:
        return [Completion(path, start_position=-len(begun)) for path in self._below(begun)]

    def _below(self, written: str) -> list[str]:
        """The paths that go on what is written; folders end in a slash."""
        parent, slash, begun = written.rpartition("/")
        try:
            folder = self._folder / Path(parent + slash).expanduser()
            with os.scandir(folder) as entries:
                found = sorted(
                    (entry.name, entry.is_dir())
                    for entry in entries
                    if entry.name.startswith(begun) and (begun or not entry.name.startswith("."))
                )[:MOST]
        except (OSError, RuntimeError, ValueError):
            return []
        return [
            f"{parent}{slash}{name}{'/' if is_folder else ''}"
            for name, is_folder in found
            if name.isprintable() and '"' not in name
        ]
