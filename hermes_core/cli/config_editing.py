"""``hermes config edit``: a copy of hermes.yaml in the person's editor, checked before it counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from hermes_core.config_edit import replace_text
from hermes_core.config_layers import read_text
from hermes_core.config_tree import Found, Problem
from hermes_core.paths import SETTINGS_FILE, write_whole
from hermes_plugins import Paths, UsageError

_NEW_FILE = "# Settings of Hermes; `hermes config explain` says which there are.\n"


def edit_settings(paths: Paths, check: Callable[[str], Sequence[Problem]]) -> str:
    """Let the person edit until there is no error, or no wish; returns what became of it.

    Raises:
        UsageError: there is no editor, the file cannot be read or written, or somebody else wrote
            it meanwhile; the text is kept.
    """
    file = paths.home / SETTINGS_FILE
    found: Found = []
    before = read_text(file, "user", found) or ""
    if found:
        raise found[0].error()
    text = start = before.replace("\r\n", "\n") or _NEW_FILE
    while True:
        text = _edited(text)
        if text == start:
            return f"{file}: not changed."
        problems = check(text)
        for item in problems:
            click.echo(f"{item.severity}: {item}")
        if not any(item.severity == "error" for item in problems):
            break
        if not _asked("Go on editing?"):
            return f"{file}: not changed. Your text is in {_kept(paths, text)}."
    after = text.replace("\n", "\r\n") if "\r\n" in before else text
    try:
        if replace_text(paths, before, after):
            return f"{file}: written."
    except UsageError as error:
        error.hint = f"Your text is in {_kept(paths, text)}."
        raise
    raise UsageError(
        f"{file} was changed by somebody else meanwhile.",
        hint=f"Your text is in {_kept(paths, text)}.",
    )


def _edited(text: str) -> str:
    try:
        edited = click.edit(text, extension=".yaml", require_save=False)
    except click.ClickException as error:
        hint = "Set EDITOR to the editor that you want, as in EDITOR=nano."
        raise UsageError(f"{error.message}.", hint=hint) from error
    except UnicodeDecodeError as error:
        raise UsageError("the edited text is not UTF-8.", hint="Nothing was changed.") from error
    return edited if edited is not None else text


def _asked(question: str) -> bool:
    try:
        return click.confirm(question, default=True)
    except click.Abort:
        return False


def _kept(paths: Paths, text: str) -> str:
    file = paths.home / f"{SETTINGS_FILE}.edited"
    write_whole(file, text.encode())
    return str(file)
