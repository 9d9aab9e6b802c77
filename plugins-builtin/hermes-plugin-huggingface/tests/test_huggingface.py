"""The provider huggingface."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestHuggingface(ProviderConformance):
    module = "hermes_plugin_huggingface"
