"""Kilo Code, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="kilocode",
            name="Kilo Code",
            hosts=("api.kilo.ai",),
            base_url="https://api.kilo.ai/api/gateway",
            base_url_env="KILOCODE_BASE_URL",
            env=("KILOCODE_API_KEY",),
            signup_url="https://app.kilo.ai/",
        )
    ]
