"""The providers custom, lmstudio, vllm and llamacpp."""

import json

import msgspec
import pytest
from hermes_plugin_custom import hermes_register_providers, parse_models

from hermes_plugins.testing import ProviderConformance

ANSWER = json.dumps(
    {
        "object": "list",
        "data": [
            {"id": "of-vllm", "max_model_len": 8192},
            {"id": "of-llamacpp", "meta": {"n_ctx": 4096, "n_ctx_train": 131072}},
            {"id": "of-lmstudio", "object": "model"},
            {"id": "of-a-gateway", "context_window": 32768, "context_length": None},
            {"object": "nameless"},
        ],
    }
).encode()


class TestCustom(ProviderConformance):
    module = "hermes_plugin_custom"
    models_answer = ANSWER
    models_expected = ("of-vllm", "of-llamacpp", "of-lmstudio", "of-a-gateway")


def test_the_window_is_read_under_each_servers_name_for_it() -> None:
    assert [model.context_length for model in parse_models(ANSWER)] == [8192, 4096, 0, 32768]


def test_a_server_without_models_has_none() -> None:
    assert parse_models(b'{"object": "list", "data": null}') == []


def test_what_is_no_list_is_an_error() -> None:
    with pytest.raises(msgspec.DecodeError):
        parse_models(b"404 page not found")


def test_the_local_servers_stand_at_their_default_ports_and_need_no_key() -> None:
    profiles = {profile.id: profile for profile in hermes_register_providers()}
    ports = {name: profile.base_url for name, profile in profiles.items() if profile.local}
    assert ports == {
        "lmstudio": "http://127.0.0.1:1234/v1",
        "vllm": "http://127.0.0.1:8000/v1",
        "llamacpp": "http://127.0.0.1:8080/v1",
    }
    assert not any(profile.key_required for profile in profiles.values())


def test_custom_has_no_address_of_its_own() -> None:
    custom = hermes_register_providers()[0]
    assert (custom.id, custom.base_url, custom.local) == ("custom", "", False)
