"""The provider zai."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestZai(ProviderConformance):
    module = "hermes_plugin_zai"
