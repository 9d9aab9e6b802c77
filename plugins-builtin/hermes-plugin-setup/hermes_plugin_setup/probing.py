"""``hermes model probe``: one small request, and what to mend where it fails."""

from __future__ import annotations

import asyncio
import json

import click

from hermes_plugins import CommandHost, HermesError, Json, ModelReply, ProviderError, UsageError

from .addresses import spellings
from .asking import ask_yes, is_person, say
from .changes import is_variable, place

MAYBE_ADDRESS = frozenset(
    {"endpoint_not_found", "malformed_response", "empty_response", "unknown", "forbidden"}
)
"""Reasons that a wrong address may have; a 404 always counts."""


def try_out(host: CommandHost, model: str, *, as_json: bool) -> int:
    """Probe; returns 0 where a model answers, at the address that is set or at one that is now.

    Raises:
        UsageError: no model can be chosen.
        ProviderError: none answers, at whatever spelling of the address.
    """
    try:
        reply = asyncio.run(_probe(host, model, {}))
    except HermesError as error:
        key = _address_key(host, model)
        if not key or not _may_be_address(error):
            raise
        found = asyncio.run(_other_spelling(host, model, key))
        if found is None:
            raise
        return _offer(host, error, key, *found, as_json=as_json)
    _tell(reply, as_json=as_json)
    return 0


async def _probe(host: CommandHost, model: str, values: dict[str, Json]) -> ModelReply:
    async with host.open(values) as face:
        return await face.catalog.probe(model)


def _may_be_address(error: HermesError) -> bool:
    if isinstance(error, ProviderError):
        return error.status in (404, 405) or error.reason in MAYBE_ADDRESS
    return isinstance(error, UsageError)  # a server that was asked for its models, say


def _address_key(host: CommandHost, model: str) -> str:
    """The setting or variable that holds the address; "" where it is the provider's own."""

    async def chosen() -> str:
        async with host.open() as face:
            return (await face.catalog.choose(model)).address

    if host.settings.get("model.base_url").value:
        return "model.base_url"
    try:
        return asyncio.run(chosen())
    except UsageError:
        return ""


async def _other_spelling(host: CommandHost, model: str, key: str) -> tuple[str, ModelReply] | None:
    """The address with or without ``/v1``, and what it answers; None where that is no model either."""
    async with host.open() as face:
        states = await face.catalog.providers()
    now = (
        next((one.url for one in states if one.profile.base_url_env == key), "")
        if is_variable(key)
        else str(host.settings.get(key).value or "")
    )
    if not now:
        return None
    tidied, other = spellings(now)
    for url in (other,) if tidied == now.rstrip("/") else (tidied, other):
        try:
            return url, await _probe(host, model, {key: url})
        except HermesError:
            continue
    return None


def _offer(
    host: CommandHost,
    error: HermesError,
    key: str,
    url: str,
    reply: ModelReply,
    *,
    as_json: bool,
) -> int:
    """Tell which spelling answers; write it where a person agrees and it can be written."""
    if as_json:
        _tell(reply, as_json=True, instead=(key, url))
        return 1
    say(error.message)
    _tell(reply, as_json=False)
    where = _elsewhere(host, key)
    if where:
        say(f"So {key} should be {url}; change it in {where}.")
        return 1
    if not is_person():
        say(f"So {key} should be {url}: `hermes config set {key} {url}`")
        return 1
    if not ask_yes(f"Write {key}: {url}?", default=True):
        return 1
    say(f"Written to {host.settings.set(key, url)}.")
    return 0


def _elsewhere(host: CommandHost, key: str) -> str:
    """Where the address is set, if that is no file of ours; "" if it is."""
    if is_variable(key):
        return "your environment" if host.settings.holds(key) == "environment" else ""
    setting = host.settings.get(key)
    return "" if setting.layer in ("user", "default") else place(setting)


def _tell(reply: ModelReply, *, as_json: bool, instead: tuple[str, str] = ("", "")) -> None:
    usage = reply.usage
    if as_json:
        told: dict[str, object] = {
            "model": reply.choice.label,
            "url": reply.choice.url,
            "seconds": round(reply.seconds, 3),
            "input": usage.input,
            "output": usage.output,
            "cost": usage.cost,
            "text": reply.text,
        }
        if instead[0]:
            told["should_be"] = {"key": instead[0], "value": instead[1]}
        click.echo(json.dumps(told, ensure_ascii=False, indent=2))
        return
    say(f"{reply.choice.label} answers at {reply.choice.url}")
    counted = f"{usage.input:,} tokens in, {usage.output:,} out"
    cost = f", ${usage.cost:.6f}" if usage.cost else ""
    say(f"{reply.seconds:.2f} s, {counted}{cost}")
