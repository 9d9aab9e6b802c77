"""The provider gmi."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestGmi(ProviderConformance):
    module = "hermes_plugin_gmi"
