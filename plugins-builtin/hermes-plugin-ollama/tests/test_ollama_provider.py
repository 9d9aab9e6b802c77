"""The provider ollama."""

from hermes_plugin_ollama import hermes_register_providers

from hermes_plugins.testing import ProviderConformance


class TestOllama(ProviderConformance):
    module = "hermes_plugin_ollama"


def test_a_first_token_may_take_long_and_a_closed_port_is_found_out_soon() -> None:
    (profile,) = hermes_register_providers()
    assert profile.timeouts.first >= 600
    assert profile.timeouts.connect <= 5


def test_it_works_without_a_key() -> None:
    (profile,) = hermes_register_providers()
    assert (profile.key_required, profile.env) == (False, ())
