"""The provider upstage."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestUpstage(ProviderConformance):
    module = "hermes_plugin_upstage"
