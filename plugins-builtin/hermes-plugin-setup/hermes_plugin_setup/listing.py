"""What ``hermes model list`` tells: the models that providers offer now."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import click

from hermes_plugins import Catalog, CommandHost, ModelInfo, ProviderError, UsageError

from .asking import clean, say


def show_list(host: CommandHost, provider: str, *, as_json: bool) -> int:
    """The models of one provider, or of all that can be used; 1 where nobody answered.

    Raises:
        UsageError: there is no such provider, or nobody can be asked.
        ProviderError: the one that was named does not answer.
    """
    found, silent = asyncio.run(_offers(host, provider))
    if as_json:
        rows = [
            {"provider": name, **_plain(model)}
            for name, models in found.items()
            for model in models
        ]
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
    else:
        for name, models in found.items():
            for model in models:
                say(f"{name}/{model.id}{_facts(model)}")
    for line in silent:
        click.echo(clean(line), err=True)
    return 0 if found else 1


async def _offers(
    host: CommandHost, provider: str
) -> tuple[dict[str, Sequence[ModelInfo]], list[str]]:
    async with host.open() as face:
        if provider:
            try:
                models = await face.catalog.models(provider)
            except ProviderError as error:
                raise ProviderError(
                    f"{provider}: {error.message.rstrip('.')}.",
                    hint=error.hint or "`hermes model probe` tries a request.",
                ) from error
            return {provider: models}, []
        states = [
            one for one in await face.catalog.providers() if one.usable and not one.profile.stand_in
        ]
        answers = await asyncio.gather(*(_asked(face.catalog, one.profile.id) for one in states))
    found: dict[str, Sequence[ModelInfo]] = {}
    silent: list[str] = []
    for state, answer in zip(states, answers, strict=True):
        if not isinstance(answer, str):
            found[state.profile.id] = answer
        elif not state.profile.local:  # a local server that is off is no news
            silent.append(f"{state.profile.id}: {answer}")
    if not states or not (found or silent):
        raise UsageError(
            "no provider can be asked: none has a key, and no local server answers.",
            hint="`hermes setup` connects one; `hermes model list PROVIDER` asks one by name.",
        )
    return found, silent


async def _asked(catalog: Catalog, provider: str) -> Sequence[ModelInfo] | str:
    try:
        return await catalog.models(provider)
    except (ProviderError, UsageError) as error:
        return error.message


def _plain(model: ModelInfo) -> dict[str, object]:
    return {
        "id": model.id,
        "context_length": model.context_length or None,
        "max_output": model.max_output or None,
        "input_price": model.input_price,
        "output_price": model.output_price,
    }


def _facts(model: ModelInfo) -> str:
    """Window and prices, where they are known."""
    facts = [f"{model.context_length:,} tokens" if model.context_length else ""]
    if model.input_price is not None and model.output_price is not None:
        facts.append(f"${model.input_price:g} in, ${model.output_price:g} out a million")
    told = "; ".join(filter(None, facts))
    return f"   ({told})" if told else ""
