"""Completion at the prompt: slash commands and what may stand behind them, and ``@`` paths."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from hermes_plugins import SlashCommand

MOST: Final = 200
"""Names of a folder that are offered."""

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
            found = self._arguments(name, rest.lstrip()) if space else self._names(name)
            return [*found, *(self._paths(before) if space else ())]
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
        """``@src/ma`` -> the names in ``src`` that begin with ``ma``."""
        word = before.split()[-1] if before[-1:].strip() else ""
        if not word.startswith("@"):
            return []
        parent, slash, begun = word[1:].rpartition("/")
        folder = self._folder / Path(parent + slash).expanduser()
        try:
            with os.scandir(folder) as entries:
                found = sorted(
                    (entry.name, entry.is_dir())
                    for entry in entries
                    if entry.name.startswith(begun) and (begun or not entry.name.startswith("."))
                )[:MOST]
        except OSError:
            return []
        return [
            Completion(
                f"@{parent}{slash}{name}{'/' if is_folder else ''}", start_position=-len(word)
            )
            for name, is_folder in found
            if " " not in name
        ]
