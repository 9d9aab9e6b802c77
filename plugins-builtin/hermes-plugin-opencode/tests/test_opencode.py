"""The provider opencode."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestOpencode(ProviderConformance):
    module = "hermes_plugin_opencode"
