"""DeepSeek, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="deepseek",
            name="DeepSeek",
            hosts=("api.deepseek.com",),
            base_url="https://api.deepseek.com/v1",
            base_url_env="DEEPSEEK_BASE_URL",
            env=("DEEPSEEK_API_KEY",),
            default_model="deepseek-chat",
            error_words={"insufficient balance": "billing"},
            reasoning_field="reasoning_content",
            signup_url="https://platform.deepseek.com/api_keys",
        )
    ]
