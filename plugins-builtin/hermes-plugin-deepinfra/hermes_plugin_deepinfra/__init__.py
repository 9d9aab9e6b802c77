"""DeepInfra, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="deepinfra",
            name="DeepInfra",
            hosts=("api.deepinfra.com",),
            base_url="https://api.deepinfra.com/v1/openai",
            base_url_env="DEEPINFRA_BASE_URL",
            env=("DEEPINFRA_API_KEY",),
            signup_url="https://deepinfra.com/dash/api_keys",
        )
    ]
