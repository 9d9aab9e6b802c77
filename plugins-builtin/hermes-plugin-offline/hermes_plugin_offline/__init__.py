"""The offline stand-in: what answers when no model is connected.

A provider whose dialect, in ``model.py``, never opens a connection. It ranks last, so that any real
model comes first.
"""

from __future__ import annotations

from hermes_plugins import ModelInfo, ProviderProfile, hookimpl


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """One provider, one model, no key, no cost."""
    return [
        ProviderProfile(
            id="offline",
            name="Offline (no language model)",
            dialect="offline",
            base_url="offline://local",
            default_model="offline-1",
            models=(
                ModelInfo(
                    id="offline-1", context_length=1_000_000, input_price=0.0, output_price=0.0
                ),
            ),
            key_required=False,
            priority=99,
        )
    ]
