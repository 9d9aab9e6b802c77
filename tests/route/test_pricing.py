"""Costs of model calls."""

import pytest

from hermes_core.route.pricing import priced
from hermes_plugins import ModelInfo, Usage

MODEL = ModelInfo(id="m", input_price=2.0, output_price=10.0, cached_price=0.5)


def test_fresh_cached_and_written_tokens_have_their_own_prices() -> None:
    usage = priced(Usage(input=1_000_000, cached=400_000, output=100_000), MODEL)
    assert usage.cost == pytest.approx(0.6 * 2.0 + 0.4 * 0.5 + 0.1 * 10.0)


def test_what_the_provider_says_counts() -> None:
    assert priced(Usage(input=10, cost=0.25), MODEL).cost == 0.25


def test_without_a_price_the_cost_stays_unknown() -> None:
    assert priced(Usage(input=10), ModelInfo(id="m")).cost is None


def test_a_cache_without_a_price_of_its_own_costs_the_full_one() -> None:
    model = ModelInfo(id="m", input_price=2.0, output_price=10.0)
    assert priced(Usage(input=1_000_000, cached=1_000_000), model).cost == pytest.approx(2.0)
