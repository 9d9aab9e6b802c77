"""The provider cerebras."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestCerebras(ProviderConformance):
    module = "hermes_plugin_cerebras"
