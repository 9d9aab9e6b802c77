"""Ollama Cloud, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="ollama-cloud",
            name="Ollama Cloud",
            hosts=("ollama.com",),
            base_url="https://ollama.com/v1",
            base_url_env="OLLAMA_CLOUD_BASE_URL",
            env=("OLLAMA_API_KEY",),
            signup_url="https://ollama.com/settings/keys",
        )
    ]
