"""The provider xiaomi."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestXiaomi(ProviderConformance):
    module = "hermes_plugin_xiaomi"
