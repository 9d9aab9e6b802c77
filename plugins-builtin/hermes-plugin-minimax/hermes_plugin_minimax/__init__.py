"""MiniMax, over the Messages API that it offers beside its own."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The international service and the Chinese one; the keys are different."""
    return [
        ProviderProfile(
            id="minimax",
            name="MiniMax",
            dialect="anthropic_messages",
            hosts=("api.minimax.io",),
            base_url="https://api.minimax.io/anthropic/v1",
            base_url_env="MINIMAX_BASE_URL",
            env=("MINIMAX_API_KEY",),
            signup_url="https://platform.minimax.io/",
        ),
        ProviderProfile(
            id="minimax-cn",
            name="MiniMax (China)",
            dialect="anthropic_messages",
            hosts=("api.minimaxi.com",),
            base_url="https://api.minimaxi.com/anthropic/v1",
            base_url_env="MINIMAX_CN_BASE_URL",
            env=("MINIMAX_CN_API_KEY",),
            signup_url="https://platform.minimaxi.com/",
        ),
    ]
