"""Kimi (Moonshot AI), over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="kimi",
            name="Kimi (Moonshot AI)",
            aliases=("moonshot", "kimi-coding"),
            hosts=(
                "api.moonshot.ai",
                "api.moonshot.cn",
            ),
            base_url="https://api.moonshot.ai/v1",
            base_url_env="KIMI_BASE_URL",
            env=(
                "KIMI_API_KEY",
                "KIMI_CODING_API_KEY",
            ),
            error_words={
                "insufficient balance": "billing",
                "exceeded model token limit": "context_overflow",
            },
            signup_url="https://platform.moonshot.ai/console/api-keys",
        )
    ]
