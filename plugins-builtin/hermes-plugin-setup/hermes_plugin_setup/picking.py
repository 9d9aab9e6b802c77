"""Choosing a provider and a model with a person. Gives what is to be written; writes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from difflib import get_close_matches

import click
import msgspec

from hermes_plugins import (
    CommandHost,
    Json,
    ModelInfo,
    ProviderProfile,
    ProviderState,
    UsageError,
)

from . import addresses
from .asking import Option, ask, ask_one, ask_unseen, ask_yes, say
from .changes import CUSTOM, CUSTOM_KEY, as_tried, switched
from .surroundings import Surroundings

SHOWN = 12
"""Models in a list; more are found by a part of their name."""


class Picked(msgspec.Struct, frozen=True, kw_only=True):
    """A choice, and the settings and variables that make it."""

    label: str
    values: dict[str, Json]


def pick(host: CommandHost, around: Surroundings) -> Picked:
    """Ask for a provider, its key or address where it needs one, and a model.

    Raises:
        click.Abort: the person left.
    """
    states = {one.profile.id: one for one in _ranked(around)}
    options = [
        Option(value=name, text=_name(one.profile), note=_note(one, around))
        for name, one in states.items()
    ]
    if around.provider(CUSTOM) is not None:
        options.append(
            Option(value=CUSTOM, text="another address", note="any OpenAI-compatible server")
        )
    if not options:
        raise UsageError(
            "no provider is installed.", hint="`hermes plugins list` shows what is there."
        )
    while True:
        say("Which provider?")
        name = ask_one("Number or name", options).value
        say()
        picked = _at_address(host) if name == CUSTOM else _from_provider(host, states[name], around)
        if picked is not None:
            return picked


def _ranked(around: Surroundings) -> list[ProviderState]:
    """Providers of models, those first that could be used at once."""

    def rank(one: ProviderState) -> tuple[bool, bool, int, str]:
        off = one.profile.local and one.profile.id not in around.servers
        return (
            off,
            not (one.key or one.profile.id in around.servers),
            one.profile.priority,
            one.profile.id,
        )

    found = [
        one for one in around.providers if not one.profile.stand_in and one.profile.id != CUSTOM
    ]
    return sorted(found, key=rank)


def _note(state: ProviderState, around: Surroundings) -> str:
    profile = state.profile
    if profile.id in around.servers:
        count = len(around.servers[profile.id])
        return f"answers, {count} model{'s' * (count != 1)}"
    if profile.local:
        return f"does not answer at {state.url}"
    if state.key:
        return f"has a key ({state.key})"
    return "needs a key" if profile.key_required else ""


def _name(profile: ProviderProfile) -> str:
    return profile.name or profile.id


def _from_provider(host: CommandHost, state: ProviderState, around: Surroundings) -> Picked | None:
    """A model of a named provider; None goes back to the choice of provider."""
    profile = state.profile
    if profile.local and profile.id not in around.servers:
        say(f"{_name(profile)} does not answer at {state.url}. Start it, and come back.")
        if profile.signup_url:
            say(f"It can be had at {profile.signup_url}")
        if not ask_yes("Choose another provider?", default=True):
            raise click.Abort
        return None
    key: dict[str, Json] = {}
    models: Sequence[ModelInfo] = around.servers.get(profile.id, ())
    while not models:
        if profile.key_required and not (state.key or key):
            typed = _asked_key(profile)
            if not typed:
                return None
            key = {profile.env[0]: typed}
        trial = {**as_tried(switched(host.settings, profile.id, "")), **key}
        tried = asyncio.run(addresses.listed(host, profile.id, trial))
        models = tried.models
        if not tried.problem:
            break
        if tried.status in addresses.REFUSED:
            say(f"{_name(profile)} does not accept this key (status {tried.status}).")
            if profile.env and ask_yes("Type another one?", default=True):
                key = {profile.env[0]: typed} if (typed := _asked_key(profile)) else {}
                continue
        else:
            say(f"{_name(profile)} cannot be asked for its models: {tried.problem}.")
        break
    known = models or profile.models
    model = pick_model(known, default=profile.default_model or _first(known))
    values = {**switched(host.settings, profile.id, model), **key}
    return Picked(label=f"{profile.id}/{model}", values=values)


def _asked_key(profile: ProviderProfile) -> str:
    if not profile.env:
        raise UsageError(
            f"{_name(profile)} takes no key from a variable.",
            hint=f"Write it to credentials.{profile.id}.keys in hermes.yaml.",
        )
    if profile.signup_url:
        say(f"A key for {_name(profile)} can be had at {profile.signup_url}")
    return ask_unseen(f"{profile.env[0]} (you will not see it; Enter goes back)")


def _at_address(host: CommandHost) -> Picked | None:
    """A model of any server; its address is tried with and without ``/v1``."""
    typed = ask("Address, such as http://192.168.1.5:8080/v1", check=addresses.problem_of)
    if not typed:
        return None
    key: dict[str, Json] = {}
    best, other = asyncio.run(addresses.find(host, typed))
    if best.status in addresses.REFUSED:
        say(f"{best.url} wants a key.")
        held = host.settings.holds(CUSTOM_KEY)
        if held and ask_yes(f"Send it the one of {CUSTOM_KEY} ({held})?", default=True):
            best, other = asyncio.run(addresses.find(host, typed, key=None))
        elif given := ask_unseen(f"{CUSTOM_KEY} (you will not see it)"):
            key = {CUSTOM_KEY: given}
            best, other = asyncio.run(addresses.find(host, typed, key=given))
    if best.problem:
        for one in (best, other):
            say(f"  {one.problem}" if one.url in one.problem else f"  {one.url}: {one.problem}")
        if not ask_yes(f"No models are listed there. Use {best.url} all the same?", default=False):
            return None
    elif best.url != addresses.tidy(typed):
        say(f"{best.url} is what answers; that is taken.")
    model = pick_model(best.models, default=_first(best.models))
    values = {**switched(host.settings, CUSTOM, model, base_url=best.url), **key}
    return Picked(label=f"{CUSTOM}/{model} at {best.url}", values=values)


def _first(models: Sequence[ModelInfo]) -> str:
    return models[0].id if models else ""


def pick_model(models: Sequence[ModelInfo], *, default: str = "") -> str:
    """The name of a model: by number, by name, or by a part of it that narrows the list."""
    names = [one.id for one in models]
    names = [*(name for name in names if name == default), *(n for n in names if n != default)]
    shown = names
    while True:
        for number, name in enumerate(shown[:SHOWN], 1):
            say(f"  {number:>2}  {name}")
        if len(shown) > SHOWN:
            say(f"      and {len(shown) - SHOWN} more; a part of a name finds them")
        typed = ask_name("Model", names, default=default)
        if typed.isdecimal() and 0 < int(typed) <= min(len(shown), SHOWN):
            return shown[int(typed) - 1]
        if typed in names:
            return typed
        if not typed:
            say("  A model has to be named.")
            continue
        found = [name for name in names if all(w in name.lower() for w in typed.lower().split())]
        if len(found) == 1:
            return found[0]
        if found:
            shown, default = found, found[0]
            continue
        near = get_close_matches(typed, names, n=1, cutoff=0.6)
        guess = f" Did you mean {near[0]}?" if near else ""
        if not names or ask_yes(f"{typed} is not in the list.{guess} Take it?", default=False):
            return typed


def ask_name(question: str, names: Sequence[str], *, default: str) -> str:
    """A line, completed from ``names`` where prompt_toolkit is there to do it."""
    try:
        from .completing import complete
    except ImportError:
        return ask(question, default=default)
    return complete(question, names, default=default)
