"""The provider deepinfra."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestDeepinfra(ProviderConformance):
    module = "hermes_plugin_deepinfra"
