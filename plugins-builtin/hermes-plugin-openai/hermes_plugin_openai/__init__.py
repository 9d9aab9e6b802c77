"""OpenAI. Facts from its model pages (GPT-6 Luna: 2026-09)."""

from __future__ import annotations

from hermes_plugins import Json, ModelInfo, ModelRequest, ProviderProfile, hookimpl

# Chat completions refuse function tools for these unless reasoning is off ("To use function tools, use
# /v1/responses or set reasoning_effort to 'none'"), also when the request names no effort at all.
_TOOLS_WITHOUT_REASONING = ("gpt-5.4", "gpt-5.5", "gpt-5.6", "gpt-6")


def request_extras(request: ModelRequest) -> dict[str, Json]:
    """``max_tokens`` is refused by the reasoning models; its successor is taken by all."""
    extras: dict[str, Json] = {}
    if request.tools and request.model.startswith(_TOOLS_WITHOUT_REASONING):
        extras["reasoning_effort"] = "none"
    if request.max_output:
        extras["max_completion_tokens"] = request.max_output
    return extras


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    luna = ModelInfo(
        id="gpt-6-luna",
        context_length=1_050_000,
        max_output=128_000,
        input_price=0.10,
        cached_price=0.01,
        output_price=0.50,
    )
    return [
        ProviderProfile(
            id="openai",
            name="OpenAI",
            aliases=("openai-api",),
            hosts=("api.openai.com",),
            base_url="https://api.openai.com/v1",
            base_url_env="OPENAI_BASE_URL",
            env=("OPENAI_API_KEY",),
            default_model=luna.id,
            models=(luna,),
            priority=20,
            error_words={
                "exceeded your current quota": "billing",
                "only supported in v1/responses": "model_not_found",
                "this is not a chat model": "model_not_found",
            },
            request_extras=request_extras,
            signup_url="https://platform.openai.com/api-keys",
        )
    ]
