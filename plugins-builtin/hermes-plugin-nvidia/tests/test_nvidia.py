"""The provider nvidia."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestNvidia(ProviderConformance):
    module = "hermes_plugin_nvidia"
