"""Acorn: the kit's suite, and its habits on the wire."""

from __future__ import annotations

import hermes_plugin_acorn
import pytest

from hermes_plugins import Retrying
from hermes_plugins.testing import HostFactory, ProviderConformance, ScriptedServer, replies

PLUGINS = {("hermes.providers", "acorn"): hermes_plugin_acorn}
SETTINGS = {"model.provider": "acorn"}


class TestAcorn(ProviderConformance):
    module = "hermes_plugin_acorn"
    models_answer = b'{"trees": [{"name": "oak-1", "window": 128000}]}'
    models_expected = ("oak-1",)


@pytest.fixture(autouse=True)
def at_acorn(monkeypatch: pytest.MonkeyPatch, model_server: ScriptedServer) -> None:
    """A key, and the scripted server in the vendor's place."""
    monkeypatch.setenv("ACORN_API_KEY", "sk-test-not-a-real-key")
    monkeypatch.setenv("ACORN_BASE_URL", model_server.url)


async def test_a_request_has_its_form(hermes: HostFactory, model_server: ScriptedServer) -> None:
    model_server.script(replies.say("Hello."))
    async with hermes(plugins=PLUGINS, settings=SETTINGS, toolsets=("todo",)) as host:
        answer = await host.ask("Hello")
    assert answer.text == "Hello."
    (request,) = model_server.requests
    assert request.headers["x-acorn-key"] == "sk-test-not-a-real-key"
    assert request.json["model"] == "oak-1"
    assert request.json["tool_mode"] == "strict"
    assert "stream_options" not in request.json


async def test_its_420_is_tried_again(hermes: HostFactory, model_server: ScriptedServer) -> None:
    busy = replies.fail(420, "slow down", headers={"retry-after-ms": "1"})
    model_server.script(busy, replies.say("Hello."))
    async with hermes(plugins=PLUGINS, settings=SETTINGS) as host:
        answer = await host.ask("Hello")
    assert [event.reason for event in answer.of(Retrying)] == ["rate_limit"]
    assert answer.end.outcome == "completed"


async def test_out_of_acorns_is_not(hermes: HostFactory, model_server: ScriptedServer) -> None:
    model_server.script(replies.fail(400, "You are out of acorns."))
    async with hermes(plugins=PLUGINS, settings=SETTINGS) as host:
        answer = await host.ask("Hello")
    assert answer.end.outcome == "failed"
    assert "credit or quota is used up" in answer.end.reason
    assert len(model_server.requests) == 1


async def test_an_error_inside_a_200_is_one_too(
    hermes: HostFactory, model_server: ScriptedServer
) -> None:
    soon = {"retry-after-ms": "1"}
    model_server.script(
        replies.fail(200, body={"error": "Too many squirrels!"}, headers=soon),
        replies.error_in_stream("Too many squirrels!", headers=soon),
        replies.say("Hello."),
    )
    async with hermes(plugins=PLUGINS, settings=SETTINGS) as host:
        answer = await host.ask("Hello")
    assert [event.reason for event in answer.of(Retrying)] == ["overloaded", "overloaded"]
    assert answer.text == "Hello."
