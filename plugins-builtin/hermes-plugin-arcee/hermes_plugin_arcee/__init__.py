"""Arcee AI, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="arcee",
            name="Arcee AI",
            hosts=("api.arcee.ai",),
            base_url="https://api.arcee.ai/api/v1",
            base_url_env="ARCEE_BASE_URL",
            env=(
                "ARCEEAI_API_KEY",
                "ARCEE_API_KEY",
            ),
            signup_url="https://chat.arcee.ai/",
        )
    ]
