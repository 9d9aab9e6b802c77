"""Questions at a terminal, a line each. Ctrl-C and Ctrl-D leave, as ``click.Abort``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import click
import msgspec

from hermes_plugins import UsageError


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """A line to choose from: what it is called, and what is said of it. ``value`` may be typed too."""

    value: str
    text: str
    note: str = ""


def is_person() -> bool:
    """Whether somebody reads and can answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def need_person(command: str, instead: str) -> None:
    """Refuse to ask a pipe.

    Raises:
        UsageError: there is no terminal; ``instead`` says what to call then.
    """
    if not is_person():
        raise UsageError(f"{command} asks questions, and this is no terminal.", hint=instead)


def say(text: str = "") -> None:
    """A line for the person."""
    click.echo(clean(text))


def clean(text: str) -> str:
    """``text`` without what a terminal would act on: servers name their models as they like."""
    return "".join(one for one in text if one.isprintable() or one in "\n\t")


def ask(question: str, *, default: str = "", check: Callable[[str], str] | None = None) -> str:
    """A line of text. Enter takes the default, ``-`` empties it."""
    while True:
        shown = f"{question} [{default}]" if default else question
        typed = str(click.prompt(shown, default="", show_default=False)).strip()
        answer = "" if typed == "-" else typed or default
        wrong = check(answer) if check is not None and typed else ""
        if not wrong:
            return answer
        say(f"  {wrong}")


def ask_unseen(question: str) -> str:
    """A secret, without the spaces and line ends that come along when one is pasted."""
    typed = click.prompt(question, default="", show_default=False, hide_input=True)
    return "".join(str(typed).split())


def ask_yes(question: str, *, default: bool) -> bool:
    """Yes or no."""
    return click.confirm(question, default=default)


def ask_one(question: str, options: Sequence[Option], *, default: int = 0) -> Option:
    """One of the options, by its number or its name."""
    width = max(len(one.text) for one in options)
    for number, one in enumerate(options, 1):
        say(f"  {number:>2}  {one.text:<{width}}  {one.note}".rstrip())
    while True:
        typed = ask(question, default=str(default + 1))
        if found := _meant(typed, options):
            return found
        say(f"  A number from 1 to {len(options)}, or a name of the list.")


def _meant(typed: str, options: Sequence[Option]) -> Option | None:
    if typed.isdecimal() and 0 < int(typed) <= len(options):
        return options[int(typed) - 1]
    word = typed.casefold()
    exact = [one for one in options if word in (one.value.casefold(), one.text.casefold())]
    begun = [one for one in options if one.text.casefold().startswith(word)] if word else []
    return exact[0] if exact else begun[0] if len(begun) == 1 else None


def names_in(text: str) -> list[str]:
    """The parts of a list that was typed with commas."""
    return [part.strip() for part in text.split(",") if part.strip()]
