"""OpenRouter. Reading its catalogue is the work of ``catalog.py``, imported on use.

Usage and cost come with every answer without being asked for (its page on usage accounting).
"""

from __future__ import annotations

from collections.abc import Sequence

from hermes_plugins import ModelInfo, ProviderProfile, hookimpl


def parse_models(body: bytes) -> Sequence[ModelInfo]:
    """The catalogue, with windows and prices."""
    from . import catalog

    return catalog.parse(body)


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="openrouter",
            name="OpenRouter",
            aliases=("or",),
            hosts=("openrouter.ai",),
            base_url="https://openrouter.ai/api/v1",
            base_url_env="OPENROUTER_BASE_URL",
            env=("OPENROUTER_API_KEY",),
            default_model="openrouter/auto",
            headers={"x-openrouter-title": "Hermes"},
            priority=10,
            error_words={
                "requires more credits": "billing",
                "insufficient credits": "billing",
                "endpoint's maximum context length": "context_overflow",
                "temporarily rate-limited upstream": "upstream_rate_limit",
                "matching your data policy": "provider_policy_blocked",
                "no endpoints found": "model_not_found",
                "is not a valid model id": "model_not_found",
            },
            parse_models=parse_models,
            signup_url="https://openrouter.ai/keys",
        )
    ]
