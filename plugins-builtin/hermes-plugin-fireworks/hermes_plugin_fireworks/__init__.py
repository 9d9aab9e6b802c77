"""Fireworks AI, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="fireworks",
            name="Fireworks AI",
            aliases=("fw",),
            hosts=("api.fireworks.ai",),
            base_url="https://api.fireworks.ai/inference/v1",
            base_url_env="FIREWORKS_BASE_URL",
            env=("FIREWORKS_API_KEY",),
            signup_url="https://app.fireworks.ai/settings/users/api-keys",
        )
    ]
