"""What ``hermes model`` shows, and what it sets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from difflib import get_close_matches

import click

from hermes_plugins import (
    Catalog,
    CommandHost,
    Json,
    ModelChoice,
    ProviderState,
    Setting,
    UsageError,
)

from .addresses import listed
from .asking import ask_unseen, is_person, need_person, say
from .changes import as_tried, is_variable, news, place, switched, write
from .picking import pick
from .surroundings import look

_WORDS = ("list", "probe", "pick", "set")
"""What stands behind `hermes model` and is no name of a model."""


def show(host: CommandHost, *, as_json: bool) -> None:
    """What would be used now: model, address and key, and where each was set.

    Raises:
        UsageError: nothing could be used; what there is was shown before.
    """
    setting = host.settings.get("model.name")
    states, chosen, trouble = asyncio.run(_now(host))
    if as_json:
        click.echo(_json(host, setting, chosen, trouble))
        if trouble is not None:
            raise trouble
        return
    if chosen is None:
        say(f"model    {setting.value}   ({place(setting)})")
        if state := _meant(host, states, str(setting.value)):
            say(f"address  {state.url or 'none'}")
            say(f"key      {_key(host, state.key) or 'none'}")
        raise trouble or UsageError("no model can be used.")
    say(f"model    {chosen.label}   ({_why(setting, chosen)})")
    say(f"address  {chosen.url}   ({_address(host, chosen)})")
    say(f"key      {_key(host, chosen.key) or 'none; it needs none'}")
    if chosen.stand_in:
        say("No model is connected; this one only plays a part. `hermes setup` connects one.")
    elif is_person():
        say("`hermes model pick` chooses another one, `hermes model probe` tries this one.")


async def _now(
    host: CommandHost,
) -> tuple[Sequence[ProviderState], ModelChoice | None, UsageError | None]:
    async with host.open() as face:
        states = await face.catalog.providers()
        try:
            return states, await face.catalog.choose(), None
        except UsageError as error:
            return states, None, error


def _meant(host: CommandHost, states: Sequence[ProviderState], name: str) -> ProviderState | None:
    """The provider that cannot be used, where the settings name one."""
    wanted = str(host.settings.get("model.provider").value or "") or name.partition("/")[0]
    return next((one for one in states if wanted in (one.profile.id, *one.profile.aliases)), None)


def _why(setting: Setting, chosen: ModelChoice) -> str:
    if setting.layer == "default" or setting.value == "auto":
        return "the first that can be used"
    return f"model.name, {place(setting)}"


def _address(host: CommandHost, chosen: ModelChoice) -> str:
    if not chosen.address:
        return "the provider's own"
    if is_variable(chosen.address):
        return f"{chosen.address}, {_held(host, chosen.address)}"
    return f"{chosen.address}, {place(host.settings.get(chosen.address))}"


def _key(host: CommandHost, source: str) -> str:
    if not source:
        return ""
    return f"{source}, {_held(host, source)}" if is_variable(source) else f"set in {source}"


def _held(host: CommandHost, variable: str) -> str:
    where = host.settings.holds(variable)
    return "in your environment" if where == "environment" else f"in {where}"


def _json(
    host: CommandHost, setting: Setting, chosen: ModelChoice | None, trouble: UsageError | None
) -> str:
    told: dict[str, object] = {
        "model": chosen.label if chosen else None,
        "setting": {
            "value": setting.value,
            "layer": setting.layer,
            "file": setting.file,
            "line": setting.line,
        },
        "url": chosen.url if chosen else None,
        "address": chosen.address if chosen else None,
        "dialect": chosen.dialect if chosen else None,
        "key": chosen.key if chosen else None,
        "key_from": host.settings.holds(chosen.key)
        if chosen is not None and is_variable(chosen.key)
        else "",
        "stand_in": chosen.stand_in if chosen else False,
        "problem": str(trouble) if trouble is not None else "",
    }
    return json.dumps(told, ensure_ascii=False, indent=2)


# -- another one -----------------------------------------------------------------------


def use(host: CommandHost, name: str, *, force: bool) -> None:
    """Use a model from now on.

    Raises:
        UsageError: it is unknown, as far as one can know, or its provider cannot be used.
    """
    provider, model, key = asyncio.run(_resolved(host, name))
    values: dict[str, Json] = switched(host.settings, provider, model)
    if key and is_person():
        typed = ask_unseen(f"{key} (you will not see it)")
        values |= {key: typed} if typed else {}
    trial = as_tried(values)
    choice, told, unasked = asyncio.run(_checked(host, provider, model, trial))
    if told and not force:
        raise UsageError(
            told, hint=f"`hermes model list {provider}` shows them; --force takes it as it is."
        )
    _write(host, values, label=choice.label)
    if unasked:
        say(f"Whether {provider} has it could not be asked: {unasked}.")


def _write(host: CommandHost, values: dict[str, Json], *, label: str) -> None:
    values = news(host.settings, values)
    if not values:
        say(f"It is {label} already.")
        return
    removed = [key for key, value in values.items() if value is None]
    done = list(write(host.settings, values, copy=False))
    say(f"The model is {label} now.")
    if removed:
        say(f"Removed, because they belonged to the one before: {', '.join(removed)}.")
    for line in done:
        say(line)


async def _resolved(host: CommandHost, name: str) -> tuple[str, str, str]:
    """Provider, model and the key that is missing, "" for none."""
    first, slash, rest = name.partition("/")
    async with host.open() as face:
        states = await face.catalog.providers()
        by_name = {label: one for one in states for label in (one.profile.id, *one.profile.aliases)}
        owner = str(host.settings.get("model.provider").value or "")
        if name in by_name:  # a provider alone: its own choice, or the first that it lists
            choice = await face.catalog.choose(provider=name)
            return choice.provider, choice.label.partition("/")[2], ""
        if slash and first in by_name and (owner != by_name[first].profile.id or not owner):
            state, model = by_name[first], rest
        elif owner in by_name:
            state = by_name[owner]
            model = name.removeprefix(f"{owner}/")
        else:
            choice = await _choose(face.catalog, name)
            return choice.provider, choice.label.partition("/")[2], ""
    if not model:
        raise UsageError("the model has no name.", hint=f"`hermes model list {first}` shows them.")
    profile = state.profile
    lacks = profile.key_required and not state.key and profile.env
    return profile.id, model, profile.env[0] if lacks else ""


async def _choose(catalog: Catalog, name: str) -> ModelChoice:
    """As the catalogue has it; where it knows no such model, perhaps a command was meant."""
    near = get_close_matches(name, _WORDS, n=1)
    guess = f" Did you mean `hermes model {near[0]}`?" if near else ""
    try:
        choice = await catalog.choose(model=name)
    except UsageError as error:
        raise UsageError(f"{error.message}{guess}", hint=error.hint) from error
    return choice


async def _checked(
    host: CommandHost, provider: str, model: str, values: dict[str, Json]
) -> tuple[ModelChoice, str, str]:
    """What the choice comes to; what is wrong with the name, as far as the provider lists names; and
    why it could not be asked."""
    async with host.open(values) as face:
        choice = await face.catalog.choose()
    tried = await listed(host, provider, values)
    names = [one.id for one in tried.models]
    # Some providers take a variant behind a colon that they do not list.
    if tried.problem or model in names or model.rpartition(":")[0] in names:
        return choice, "", tried.problem
    near = get_close_matches(model, names, n=1, cutoff=0.5)
    guess = f" Did you mean {near[0]}?" if near else ""
    return choice, f"{provider} lists no model {model!r}.{guess}", ""


def choose(host: CommandHost) -> None:
    """Choose from lists.

    Raises:
        UsageError: there is no terminal.
    """
    need_person(
        "`hermes model pick`", "`hermes model list`, and then `hermes model PROVIDER/MODEL`"
    )
    picked = pick(host, asyncio.run(look(host)))
    _write(host, picked.values, label=picked.label)
