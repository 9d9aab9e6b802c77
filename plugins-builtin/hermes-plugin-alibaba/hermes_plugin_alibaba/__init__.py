"""Alibaba Cloud Model Studio, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="alibaba",
            name="Alibaba Cloud Model Studio",
            aliases=("dashscope",),
            hosts=(
                "dashscope-intl.aliyuncs.com",
                "dashscope.aliyuncs.com",
            ),
            base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
            base_url_env="DASHSCOPE_BASE_URL",
            env=("DASHSCOPE_API_KEY",),
            error_words={"arrearage": "billing", "range of input length": "context_overflow"},
            signup_url="https://bailian.console.alibabacloud.com/",
        )
    ]
