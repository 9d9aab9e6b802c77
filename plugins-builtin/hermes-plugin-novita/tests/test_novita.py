"""The provider novita."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestNovita(ProviderConformance):
    module = "hermes_plugin_novita"
