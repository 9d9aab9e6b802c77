"""The provider stepfun."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestStepfun(ProviderConformance):
    module = "hermes_plugin_stepfun"
