"""What a model call cost, where the provider does not say it itself."""

from __future__ import annotations

import msgspec

from hermes_plugins._messages import Usage
from hermes_plugins._providers import ModelInfo

MILLION = 1_000_000


def priced(usage: Usage, model: ModelInfo) -> Usage:
    """``usage`` with a cost in US dollars; as it is where it has one, or a price is not known.

    Tokens read from the cache cost ``cached_price``, those written to it ``write_price``, or the full
    price where that is not known.
    """
    if usage.cost is not None or model.input_price is None or model.output_price is None:
        return usage
    cached_price = model.input_price if model.cached_price is None else model.cached_price
    write_price = model.input_price if model.write_price is None else model.write_price
    fresh = max(0, usage.input - usage.cached - usage.written)
    cost = (
        fresh * model.input_price
        + usage.cached * cached_price
        + usage.written * write_price
        + usage.output * model.output_price
    ) / MILLION
    return msgspec.structs.replace(usage, cost=cost)
