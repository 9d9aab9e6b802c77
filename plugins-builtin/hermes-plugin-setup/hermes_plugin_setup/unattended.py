"""``hermes setup --non-interactive``: takes what the environment gives, writes what is sure, and tells
what is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import click

from hermes_plugins import CommandHost, Json

from . import sections
from .changes import is_variable, lines, news, write
from .surroundings import Surroundings, look


def run(host: CommandHost, *, parts: Sequence[str], blank: bool, keep_keys: bool) -> int:
    """Set up ``parts``; returns 0 where nothing is missing, else 1.

    Raises:
        UsageError: hermes.yaml is broken, or a file cannot be written.
    """
    around = asyncio.run(look(host))
    values: dict[str, Json] = {}
    missing: list[str] = []
    if "model" in parts:
        values |= _model(host, around)
        missing += _missing_model(around)
    if blank:
        values |= sections.blank(host.settings, around)
    for part in parts:
        missing += sections.missing(host.settings, sections.sections_of(around, part))
    values = news(host.settings, values)
    told = list(lines(host.settings, values))
    done = list(write(host.settings, values, copy=True)) if values else []
    keys = _keys(host, around, keep=keep_keys) if "model" in parts else ()
    for line in [*told, *done, *keys]:
        click.echo(line)
    for line in missing:
        click.echo(f"missing: {line}")
    if not values and not missing:
        click.echo("Nothing to change, nothing missing.")
    return 1 if missing else 0


def _model(host: CommandHost, around: Surroundings) -> dict[str, Json]:
    """The model that would be taken, where nothing names one yet."""
    chosen = around.chosen
    is_open = host.settings.get("model.name").layer == "default"
    if chosen is None or chosen.stand_in or chosen.address == "model.base_url" or not is_open:
        return {}
    return {"model.name": chosen.label}


def _missing_model(around: Surroundings) -> Iterator[str]:
    if around.trouble is not None:
        yield f"a model: {around.trouble}"
    elif around.chosen is not None and around.chosen.stand_in:
        ranked = sorted(around.providers, key=lambda one: one.profile.priority)
        profiles = [one.profile for one in ranked]
        keyed = [one.env[0] for one in profiles if one.key_required and one.env]
        names = " or ".join(keyed[:4])
        servers = " or ".join(one.name or one.id for one in profiles if one.local)
        ways = [f"set {names}" if names else "", f"start {servers}" if servers else ""]
        yield f"a model: {', or '.join(filter(None, ways))}."


def _keys(host: CommandHost, around: Surroundings, *, keep: bool) -> Iterator[str]:
    """What becomes of the key that is in the environment alone."""
    name = around.chosen.key if around.chosen is not None else ""
    if not is_variable(name) or host.settings.holds(name) != "environment":
        return
    if keep:
        yield f"{name}: written to {host.settings.keep(name)}"
    else:
        yield (
            f"{name} stays in your environment, which a service may not see; "
            "--keep-keys writes it to .env."
        )
