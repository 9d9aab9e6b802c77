"""The provider alibaba."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestAlibaba(ProviderConformance):
    module = "hermes_plugin_alibaba"
