"""The provider kimi."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestKimi(ProviderConformance):
    module = "hermes_plugin_kimi"
