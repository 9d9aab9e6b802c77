"""The provider openai."""

import pytest
from hermes_plugin_openai import request_extras

from hermes_plugins import ModelRequest, ToolSpec
from hermes_plugins.testing import ProviderConformance

TOOL = ToolSpec(name="t", description="d", parameters={"type": "object"})


class TestOpenAI(ProviderConformance):
    module = "hermes_plugin_openai"


@pytest.mark.parametrize("model", ["gpt-6-luna", "gpt-5.6-sol", "gpt-5.5", "gpt-5.4-mini"])
def test_models_that_refuse_tools_with_reasoning_get_none(model: str) -> None:
    request = ModelRequest(model=model, system="", messages=(), tools=(TOOL,))
    assert request_extras(request) == {"reasoning_effort": "none"}


@pytest.mark.parametrize("model", ["gpt-5-mini", "gpt-4.1", "o4-mini", "some-other-model"])
def test_other_models_keep_their_reasoning(model: str) -> None:
    request = ModelRequest(model=model, system="", messages=(), tools=(TOOL,))
    assert request_extras(request) == {}


def test_without_tools_reasoning_stays_on() -> None:
    assert request_extras(ModelRequest(model="gpt-6-luna", system="", messages=())) == {}


def test_the_output_cap_has_the_name_that_reasoning_models_take() -> None:
    request = ModelRequest(model="gpt-5-mini", system="", messages=(), max_output=500)
    assert request_extras(request) == {"max_completion_tokens": 500}
