"""Upstage, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="upstage",
            name="Upstage",
            aliases=("solar",),
            hosts=("api.upstage.ai",),
            base_url="https://api.upstage.ai/v1",
            base_url_env="UPSTAGE_BASE_URL",
            env=("UPSTAGE_API_KEY",),
            signup_url="https://console.upstage.ai/api-keys",
        )
    ]
