"""Mistral, over chat completions."""

from __future__ import annotations

from hermes_plugins import Json, ModelRequest, ProviderProfile, hookimpl


def request_extras(request: ModelRequest) -> dict[str, Json]:
    """``stream_options`` is an unknown field there, and unknown fields are refused."""
    return {"stream_options": None}


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="mistral",
            name="Mistral",
            hosts=("api.mistral.ai",),
            base_url="https://api.mistral.ai/v1",
            base_url_env="MISTRAL_BASE_URL",
            env=("MISTRAL_API_KEY",),
            default_model="mistral-large-latest",
            request_extras=request_extras,
            signup_url="https://console.mistral.ai/api-keys",
        )
    ]
