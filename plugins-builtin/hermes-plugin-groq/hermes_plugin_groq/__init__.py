"""Groq, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="groq",
            name="Groq",
            hosts=("api.groq.com",),
            base_url="https://api.groq.com/openai/v1",
            base_url_env="GROQ_BASE_URL",
            env=("GROQ_API_KEY",),
            error_words={
                "tool_use_failed": "malformed_response",
                "please reduce the length of the messages": "context_overflow",
            },
            signup_url="https://console.groq.com/keys",
        )
    ]
