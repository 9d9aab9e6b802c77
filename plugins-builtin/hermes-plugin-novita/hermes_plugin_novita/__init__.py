"""Novita AI, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="novita",
            name="Novita AI",
            hosts=("api.novita.ai",),
            base_url="https://api.novita.ai/openai/v1",
            base_url_env="NOVITA_BASE_URL",
            env=("NOVITA_API_KEY",),
            error_words={"not_enough_balance": "billing"},
            signup_url="https://novita.ai/settings/key-management",
        )
    ]
