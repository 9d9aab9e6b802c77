"""The provider together."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestTogether(ProviderConformance):
    module = "hermes_plugin_together"
