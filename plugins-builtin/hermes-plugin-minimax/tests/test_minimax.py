"""The provider minimax."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestMinimax(ProviderConformance):
    module = "hermes_plugin_minimax"
