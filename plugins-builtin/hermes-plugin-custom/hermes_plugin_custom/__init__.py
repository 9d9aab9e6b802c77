"""Any OpenAI-compatible server: ``custom`` for a URL of one's own, and three local servers by name."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_plugins import ModelInfo, ProviderProfile, Timeouts, hookimpl

# A model is loaded, and a long prompt read, before a local server sends its first byte.
_PATIENT = Timeouts(connect=3.0, first=1800.0, idle=300.0)


def parse_models(body: bytes) -> Sequence[ModelInfo]:
    """The ids, and the windows where the server tells them."""
    from . import models

    return models.parse(body)


def _local(id: str, name: str, port: int, *, env: str, priority: int) -> ProviderProfile:  # noqa: A002
    return ProviderProfile(
        id=id,
        name=name,
        local=True,
        key_required=False,
        base_url=f"http://127.0.0.1:{port}/v1",
        base_url_env=f"{id.upper()}_BASE_URL",
        env=(env,),
        priority=priority,
        timeouts=_PATIENT,
        error_words={
            "no models loaded": "model_not_found",
            "exceeds the available context size": "context_overflow",
            "when context the overflows": "context_overflow",
        },
        parse_models=parse_models,
    )


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """``custom``, and LM Studio, vLLM and llama.cpp at their default ports."""
    return [
        ProviderProfile(
            id="custom",
            name="OpenAI-compatible server",
            key_required=False,
            base_url_env="CUSTOM_BASE_URL",
            env=("CUSTOM_API_KEY",),
            priority=90,
            timeouts=_PATIENT,
            parse_models=parse_models,
        ),
        _local("lmstudio", "LM Studio", 1234, env="LM_API_KEY", priority=61),
        _local("vllm", "vLLM", 8000, env="VLLM_API_KEY", priority=62),
        _local("llamacpp", "llama.cpp", 8080, env="LLAMA_API_KEY", priority=63),
    ]
