"""The provider ollama-cloud."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestOllamaCloud(ProviderConformance):
    module = "hermes_plugin_ollama_cloud"
