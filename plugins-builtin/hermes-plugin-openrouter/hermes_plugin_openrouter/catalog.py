"""The answer of OpenRouter's ``GET /models``: prices are strings, US dollars a token."""

from __future__ import annotations

import msgspec

from hermes_plugins import Json, ModelInfo


class _Pricing(msgspec.Struct, frozen=True):
    prompt: Json = None
    completion: Json = None
    input_cache_read: Json = None


class _TopProvider(msgspec.Struct, frozen=True):
    context_length: int | None = None
    max_completion_tokens: int | None = None


class _Model(msgspec.Struct, frozen=True):
    id: str
    context_length: int | None = None
    pricing: _Pricing = _Pricing()
    top_provider: _TopProvider | None = None


class _Catalog(msgspec.Struct, frozen=True):
    data: list[_Model]


def parse(body: bytes) -> list[ModelInfo]:
    """The models of the catalogue.

    Raises:
        msgspec.DecodeError: the body is no catalogue.
    """
    return [_info(model) for model in msgspec.json.decode(body, type=_Catalog).data]


def _info(model: _Model) -> ModelInfo:
    top = model.top_provider or _TopProvider()
    # The first is of the model, the second of the server that will be asked: the smaller one holds.
    windows = [size for size in (model.context_length, top.context_length) if size]
    return ModelInfo(
        id=model.id,
        context_length=min(windows, default=0),
        max_output=top.max_completion_tokens or 0,
        input_price=_a_million(model.pricing.prompt),
        output_price=_a_million(model.pricing.completion),
        cached_price=_a_million(model.pricing.input_cache_read),
    )


def _a_million(price: Json) -> float | None:
    """Dollars a million tokens; the routers' price is -1, which means that it varies."""
    if not isinstance(price, str | int | float):
        return None
    try:
        dollars = float(price)
    except ValueError:
        return None
    return round(dollars * 1_000_000, 6) if dollars >= 0 else None
