"""Xiaomi MiMo, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="xiaomi",
            name="Xiaomi MiMo",
            aliases=("mimo",),
            hosts=("api.xiaomimimo.com",),
            base_url="https://api.xiaomimimo.com/v1",
            base_url_env="XIAOMI_BASE_URL",
            env=("XIAOMI_API_KEY",),
            signup_url="https://platform.xiaomimimo.com/",
        )
    ]
