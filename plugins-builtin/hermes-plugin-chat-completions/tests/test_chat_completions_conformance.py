"""The dialect passes the suite of its contract."""

from hermes_plugin_chat_completions import ChatCompletions

from hermes_plugins.testing import DialectConformance


class TestChatCompletions(DialectConformance):
    def make(self) -> ChatCompletions:
        return ChatCompletions()
