"""Base URLs: what a person types, with or without ``/v1``, and which spelling of it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import msgspec

from hermes_plugins import CommandHost, Json, ModelInfo, ProviderError, UsageError

from .changes import CUSTOM, CUSTOM_KEY

REFUSED = (401, 403)
"""Statuses of a server that wants a key, or another one."""
_TAILS = ("/chat/completions", "/completions", "/responses", "/models")


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """What came of asking an address for its models; ``problem`` is "" where it listed some."""

    url: str = ""
    models: Sequence[ModelInfo] = ()
    problem: str = ""
    status: int = 0


def tidy(text: str) -> str:
    """An address as it is meant: with a scheme, without what a dialect adds.

    A name or a number without a scheme is taken for plain http, as servers at home speak it.
    """
    url = text.strip().rstrip("/")
    if url and "://" not in url:
        url = f"http://{url}"
    for tail in _TAILS:
        url = url.removesuffix(tail)
    return url.rstrip("/")


def problem_of(text: str) -> str:
    """What keeps a text from being an address; "" where nothing does."""
    try:
        parts = urlsplit(tidy(text))
        ok = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        ok = False
    return "" if ok else "An address looks like http://127.0.0.1:8080/v1."


def spellings(url: str) -> tuple[str, str]:
    """The address, and the same with ``/v1`` where it has none, without where it has."""
    url = tidy(url)
    return url, url.removesuffix("/v1") if url.endswith("/v1") else f"{url}/v1"


async def find(host: CommandHost, url: str, *, key: str | None = "") -> Sequence[Tried]:
    """Ask both spellings for their models; the better one comes first.

    ``key`` is what they are sent; None is the key that the home has for `custom` already.
    """
    tried = [await _ask(host, one, key) for one in spellings(url)]
    return sorted(tried, key=_rank)


def _rank(one: Tried) -> int:
    """What lists models, then what wants a key for it, then what answers at all."""
    if not one.problem:
        return 0
    return 1 if one.status in REFUSED else 2 if one.status else 3


async def _ask(host: CommandHost, url: str, key: str | None) -> Tried:
    # A key that was set for another address is none of this one's business.
    values: dict[str, Json] = {"model.provider": CUSTOM, "model.base_url": url, "model.api_key": ""}
    if key is not None:
        values[CUSTOM_KEY] = key
    return msgspec.structs.replace(await listed(host, CUSTOM, values), url=url)


async def listed(host: CommandHost, provider: str, values: Mapping[str, Json]) -> Tried:
    """Ask a provider for its models, with ``values`` in place of what is set."""
    async with host.open(values) as face:
        try:
            models = await face.catalog.models(provider)
        except (ProviderError, UsageError) as error:
            status = error.status if isinstance(error, ProviderError) else 0
            return Tried(problem=error.message.rstrip("."), status=status)
    return Tried(models=models, problem="" if models else "it lists none", status=200)
