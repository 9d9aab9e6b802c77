"""Tencent TokenHub, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="tokenhub",
            name="Tencent TokenHub",
            aliases=("tencent-tokenhub",),
            hosts=("tokenhub.tencentmaas.com",),
            base_url="https://tokenhub.tencentmaas.com/v1",
            base_url_env="TOKENHUB_BASE_URL",
            env=("TOKENHUB_API_KEY",),
            signup_url="https://cloud.tencent.com/",
        )
    ]
