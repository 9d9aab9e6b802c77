"""Qwen Portal, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="qwen",
            name="Qwen Portal",
            hosts=("portal.qwen.ai",),
            base_url="https://portal.qwen.ai/v1",
            base_url_env="QWEN_BASE_URL",
            env=("QWEN_API_KEY",),
            signup_url="https://chat.qwen.ai/",
        )
    ]
