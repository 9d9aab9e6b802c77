"""``hermes setup`` with a person: look around, ask everything, write it at once, prove it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import click

from hermes_plugins import CommandHost, HermesError, Json

from . import PARTS, elsewhere, sections
from .asking import Option, ask_one, ask_yes, say
from .changes import as_tried, lines, news, place, write
from .picking import pick
from .proof import greet
from .surroundings import Surroundings, look

INTERRUPTED = 130
_WAYS = (
    Option(value="quick", text="quick", note="a model; the rest as it is recommended"),
    Option(value="full", text="full", note="every section: " + ", ".join(PARTS)),
    Option(value="blank", text="blank", note="a model and nothing else: no tools, no memory"),
)


def run(host: CommandHost, way: str) -> int:
    """Set up; ``way`` is quick, full, blank, a section, or "" to ask. Returns the exit status.

    Raises:
        UsageError: hermes.yaml is broken, or a file cannot be written.
    """
    try:
        answers = _asked(host, way)
        if not answers:
            say("Nothing to change.")
        elif not _agreed(host, answers):
            say("Nothing was changed.")
            return 1
    except (click.Abort, KeyboardInterrupt):
        say("\nNothing was changed.")
        return INTERRUPTED
    if answers:
        for line in write(host.settings, answers, copy=True):
            say(line)
        if any(key.startswith("platforms.") and value for key, value in answers.items()):
            say("`hermes gateway run` starts the chat platforms.")
    say()
    try:
        return _proven(host) if way in ("", "quick", "full", "blank", "model") else 0
    except (click.Abort, KeyboardInterrupt):
        say()
        return 0 if answers else INTERRUPTED


def _asked(host: CommandHost, way: str) -> dict[str, Json]:
    """Every answer that changes something."""
    say("Hermes setup. Nothing is written before the end; Ctrl-C leaves everything as it is.")
    say()
    if not way:
        way = ask_one("Which way?", _WAYS).value
        say()
    values: dict[str, Json] = {}
    around = asyncio.run(look(host))
    if way in ("quick", "full", "blank", "model"):
        values |= _inherited(host, around)
        if values:
            around = asyncio.run(look(host, as_tried(values)))
        values |= _model(host, around, values)
    if way == "full" or (way in PARTS and way != "model"):
        say("Enter keeps what stands in [brackets]; - empties it.")
        say()
    if way == "blank":
        values |= sections.blank(host.settings, around)
    for part in PARTS if way == "full" else (way,) if way in PARTS else ():
        answers = sections.ask_part(host, around, part)
        values |= answers
        if (
            not answers
            and not sections.sections_of(around, part)
            and part not in ("model", "tools")
        ):
            say(f"{part.capitalize()}: nothing that is installed asks for anything here.")
            say()
    return news(host.settings, values)


def _inherited(host: CommandHost, around: Surroundings) -> dict[str, Json]:
    """What the person lets us take from the home of Hermes Agent."""
    found = elsewhere.find(host, around)
    if found is None:
        return {}
    say(f"There is a Hermes Agent home, {found.folder}. From it can be taken:")
    for name in found.keys:
        say(f"  {name}")
    if found.model:
        say(f"  model {found.model}")
    say("Not taken:")
    for line in found.left:
        say(f"  {line}")
    taken = ask_yes("Take it over? That home stays as it is.", default=True)
    say()
    return found.values if taken else {}


def _model(host: CommandHost, around: Surroundings, before: Mapping[str, Json]) -> dict[str, Json]:
    """A model, unless the one that would be used is to stay."""
    chosen = around.chosen
    if chosen is not None and not chosen.stand_in:
        setting = host.settings.get("model.name")
        if "model.name" in before:
            why = "from that home"
        elif setting.layer == "default":
            why = "the first that is usable" + (f", by {chosen.key}" if chosen.key else "")
        else:
            why = place(setting)
        say(f"The model is {chosen.label} ({why}).")
        keep = ask_yes("Use it?", default=True)
        say()
        if keep:
            is_open = "model.name" not in before and setting.layer == "default"
            is_named = not is_open or chosen.address == "model.base_url"
            return {} if is_named else {"model.name": chosen.label}
    picked = pick(host, around)
    say()
    return picked.values


def _agreed(host: CommandHost, answers: Mapping[str, Json]) -> bool:
    say("This is going to be written:")
    for line in lines(host.settings, answers):
        say(line)
    return ask_yes("Write it?", default=True)


def _proven(host: CommandHost) -> int:
    """One real turn if the person agrees, and what can be done next."""
    status = 0
    if ask_yes("Try it with one small question?", default=True):
        try:
            asyncio.run(greet(host))
        except HermesError as error:
            say(f"hermes: {error.message}")
            if error.hint:
                say(f"        {error.hint}")
            say("`hermes model probe` looks closer; `hermes setup model` chooses again.")
            status = 1
    say()
    say("Next:")
    say("  hermes                  talk")
    say('  hermes -q "…"           ask one question')
    say("  hermes model            see and change the model")
    say("  hermes setup gateway    chat platforms; also: speech, terminal, tools, agent")
    return status
