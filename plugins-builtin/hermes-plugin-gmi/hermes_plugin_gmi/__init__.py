"""GMI Cloud, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="gmi",
            name="GMI Cloud",
            hosts=("api.gmi-serving.com",),
            base_url="https://api.gmi-serving.com/v1",
            base_url_env="GMI_BASE_URL",
            env=("GMI_API_KEY",),
            signup_url="https://console.gmicloud.ai/",
        )
    ]
