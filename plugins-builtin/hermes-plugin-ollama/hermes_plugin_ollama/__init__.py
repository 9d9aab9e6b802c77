"""A local Ollama, through its OpenAI-compatible endpoint. It needs no key and gets no such header."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, Timeouts, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="ollama",
            name="Ollama",
            local=True,
            key_required=False,
            base_url="http://127.0.0.1:11434/v1",
            base_url_env="OLLAMA_BASE_URL",
            priority=60,
            # A model is loaded, and a long prompt read, before the first byte comes.
            timeouts=Timeouts(connect=3.0, first=1800.0, idle=300.0),
            error_words={
                "try pulling it first": "model_not_found",
                "exceeds the context length": "context_overflow",
                "does not support tools": "format_error",
            },
            signup_url="https://ollama.com/download",
        )
    ]
