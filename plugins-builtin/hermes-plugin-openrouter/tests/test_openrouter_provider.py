"""The provider openrouter."""

import json

import msgspec
import pytest
from hermes_plugin_openrouter import parse_models

from hermes_plugins.testing import ProviderConformance

ANSWER = json.dumps(
    {
        "data": [
            {
                "id": "maker/large",
                "name": "Large",
                "context_length": 1048576,
                "pricing": {
                    "prompt": "0.000003",
                    "completion": "0.000015",
                    "input_cache_read": "0.0000003",
                },
                "top_provider": {"context_length": 262000, "max_completion_tokens": 65536},
            },
            {
                "id": "openrouter/auto",
                "context_length": 2000000,
                "pricing": {"prompt": "-1", "completion": "-1"},
                "top_provider": {"context_length": None, "max_completion_tokens": None},
            },
            {"id": "maker/free:free", "pricing": {"prompt": "0", "completion": "0"}},
        ]
    }
).encode()


class TestOpenRouter(ProviderConformance):
    module = "hermes_plugin_openrouter"
    models_answer = ANSWER
    models_expected = ("maker/large", "openrouter/auto", "maker/free:free")


def test_the_window_is_that_of_the_server_behind_when_it_is_smaller() -> None:
    large, auto, free = parse_models(ANSWER)
    assert (large.context_length, large.max_output) == (262_000, 65_536)
    assert (auto.context_length, auto.max_output) == (2_000_000, 0)
    assert free.context_length == 0


def test_prices_are_dollars_a_million_tokens() -> None:
    large, _, free = parse_models(ANSWER)
    assert (large.input_price, large.output_price, large.cached_price) == (3.0, 15.0, 0.3)
    assert (free.input_price, free.output_price, free.cached_price) == (0.0, 0.0, None)


def test_a_price_that_varies_is_unknown() -> None:
    assert parse_models(ANSWER)[1].input_price is None


def test_what_is_no_catalogue_is_an_error() -> None:
    with pytest.raises(msgspec.DecodeError):
        parse_models(b"<html>")
