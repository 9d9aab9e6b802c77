"""The provider anthropic."""

from __future__ import annotations

from hermes_plugins.testing import ProviderConformance


class TestAnthropic(ProviderConformance):
    module = "hermes_plugin_anthropic"
    models_answer = b'{"data":[{"type":"model","id":"claude-a"},{"type":"model","id":"claude-b"}]}'
    models_expected = ("claude-a", "claude-b")
