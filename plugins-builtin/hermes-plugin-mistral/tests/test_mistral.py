"""The provider mistral."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestMistral(ProviderConformance):
    module = "hermes_plugin_mistral"
