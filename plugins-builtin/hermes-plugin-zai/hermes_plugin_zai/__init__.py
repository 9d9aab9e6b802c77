"""Z.AI, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="zai",
            name="Z.AI",
            aliases=("glm",),
            hosts=("api.z.ai",),
            base_url="https://api.z.ai/api/paas/v4",
            base_url_env="GLM_BASE_URL",
            env=(
                "GLM_API_KEY",
                "ZAI_API_KEY",
                "Z_AI_API_KEY",
            ),
            error_words={"insufficient balance": "billing", '"1305"': "overloaded"},
            signup_url="https://z.ai/manage-apikey/apikey-list",
        )
    ]
