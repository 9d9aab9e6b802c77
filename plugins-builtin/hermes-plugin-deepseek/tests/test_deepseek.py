"""The provider deepseek."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestDeepseek(ProviderConformance):
    module = "hermes_plugin_deepseek"
