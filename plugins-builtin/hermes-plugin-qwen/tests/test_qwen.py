"""The provider qwen."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestQwen(ProviderConformance):
    module = "hermes_plugin_qwen"
