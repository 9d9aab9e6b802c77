"""The provider kilocode."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestKilocode(ProviderConformance):
    module = "hermes_plugin_kilocode"
