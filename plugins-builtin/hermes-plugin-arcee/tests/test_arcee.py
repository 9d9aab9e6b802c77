"""The provider arcee."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestArcee(ProviderConformance):
    module = "hermes_plugin_arcee"
