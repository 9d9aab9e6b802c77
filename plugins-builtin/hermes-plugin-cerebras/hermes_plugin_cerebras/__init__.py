"""Cerebras, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="cerebras",
            name="Cerebras",
            hosts=("api.cerebras.ai",),
            base_url="https://api.cerebras.ai/v1",
            base_url_env="CEREBRAS_BASE_URL",
            env=("CEREBRAS_API_KEY",),
            signup_url="https://cloud.cerebras.ai/",
        )
    ]
