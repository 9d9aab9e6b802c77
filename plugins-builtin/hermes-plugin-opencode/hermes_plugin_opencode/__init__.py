"""OpenCode: Zen, priced by token, and Go, a subscription. Two addresses, two keys.

The models of other wire formats that they host are served there too, each under its own path; here are
those that speak chat completions.
"""

from __future__ import annotations

from hermes_plugins import ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """Zen and Go."""
    return [
        ProviderProfile(
            id="opencode-zen",
            name="OpenCode Zen",
            aliases=("opencode",),
            hosts=("opencode.ai",),
            base_url="https://opencode.ai/zen/v1",
            base_url_env="OPENCODE_ZEN_BASE_URL",
            env=("OPENCODE_ZEN_API_KEY",),
            signup_url="https://opencode.ai/auth",
        ),
        ProviderProfile(
            id="opencode-go",
            name="OpenCode Go",
            hosts=("opencode.ai",),
            base_url="https://opencode.ai/zen/go/v1",
            base_url_env="OPENCODE_GO_BASE_URL",
            env=("OPENCODE_GO_API_KEY",),
            signup_url="https://opencode.ai/auth",
        ),
    ]
