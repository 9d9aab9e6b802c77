"""NVIDIA NIM, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="nvidia",
            name="NVIDIA NIM",
            hosts=("integrate.api.nvidia.com",),
            base_url="https://integrate.api.nvidia.com/v1",
            base_url_env="NVIDIA_BASE_URL",
            env=("NVIDIA_API_KEY",),
            signup_url="https://build.nvidia.com/settings/api-keys",
        )
    ]
