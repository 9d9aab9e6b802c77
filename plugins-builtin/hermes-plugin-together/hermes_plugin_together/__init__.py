"""Together AI, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="together",
            name="Together AI",
            hosts=(
                "api.together.xyz",
                "api.together.ai",
            ),
            base_url="https://api.together.xyz/v1",
            base_url_env="TOGETHER_BASE_URL",
            env=("TOGETHER_API_KEY",),
            signup_url="https://api.together.ai/settings/api-keys",
        )
    ]
