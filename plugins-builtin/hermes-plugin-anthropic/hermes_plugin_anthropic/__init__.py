"""Anthropic, over its own Messages API. Facts from its pages on models and authentication."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_plugins import ModelInfo, ProviderProfile, hookimpl


def parse_models(body: bytes) -> Sequence[ModelInfo]:
    """The list of models; its ids are all that it tells."""
    import msgspec

    found = msgspec.json.decode(body)
    listed = found.get("data", []) if isinstance(found, dict) else []
    return [ModelInfo(id=str(one["id"]), context_length=200_000) for one in listed if "id" in one]


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="anthropic",
            name="Anthropic",
            aliases=("claude",),
            dialect="anthropic_messages",
            hosts=("api.anthropic.com",),
            base_url="https://api.anthropic.com/v1",
            base_url_env="ANTHROPIC_BASE_URL",
            env=("ANTHROPIC_API_KEY",),
            key_header="x-api-key",
            headers={"anthropic-version": "2023-06-01"},
            context_length=200_000,
            priority=15,
            error_words={
                "credit balance is too low": "billing",
                "prompt is too long": "context_overflow",
                "long context beta": "long_context_tier",
                "extra usage is required for long context": "long_context_tier",
                "invalid `signature` in `thinking` block": "thinking_signature",
                "overloaded_error": "overloaded",
            },
            parse_models=parse_models,
            signup_url="https://platform.claude.com/settings/keys",
        )
    ]
