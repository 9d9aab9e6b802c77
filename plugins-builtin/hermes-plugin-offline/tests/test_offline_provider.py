"""The offline provider passes the suite of providers, and its requests keep their beginning."""

from __future__ import annotations

from hermes_plugin_offline.model import OfflineDialect

from hermes_plugins import ModelRequest, assistant_message, user_message
from hermes_plugins.testing import ProviderConformance


class TestOffline(ProviderConformance):
    module = "hermes_plugin_offline"


def test_a_longer_request_begins_with_the_one_before() -> None:
    dialect = OfflineDialect()
    messages = [user_message("hello")]
    first = dialect.encode(ModelRequest(model="offline-1", system="S", messages=messages))
    messages += [assistant_message("Hello."), user_message("help")]
    second = dialect.encode(ModelRequest(model="offline-1", system="S", messages=messages))
    assert second.startswith(first.rstrip(b"}").rstrip(b"]"))
