"""The provider fireworks."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestFireworks(ProviderConformance):
    module = "hermes_plugin_fireworks"
