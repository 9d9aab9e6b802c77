"""The provider tokenhub."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestTokenhub(ProviderConformance):
    module = "hermes_plugin_tokenhub"
