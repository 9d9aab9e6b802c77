"""Hugging Face, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="huggingface",
            name="Hugging Face",
            aliases=("hf",),
            hosts=("router.huggingface.co",),
            base_url="https://router.huggingface.co/v1",
            base_url_env="HF_BASE_URL",
            env=("HF_TOKEN",),
            error_words={"exceeded your monthly included credits": "billing"},
            signup_url="https://huggingface.co/settings/tokens",
        )
    ]
