"""StepFun, over chat completions."""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="stepfun",
            name="StepFun",
            hosts=("api.stepfun.ai",),
            base_url="https://api.stepfun.ai/step_plan/v1",
            base_url_env="STEPFUN_BASE_URL",
            env=("STEPFUN_API_KEY",),
            signup_url="https://platform.stepfun.ai/",
        )
    ]
