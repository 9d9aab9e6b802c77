"""The provider groq."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestGroq(ProviderConformance):
    module = "hermes_plugin_groq"
