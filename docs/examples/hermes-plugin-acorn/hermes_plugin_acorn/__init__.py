"""Acorn, an invented vendor, as a model provider: chat completions with three habits of its own."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_plugins import Json, ModelInfo, ModelRequest, ProviderError, ProviderProfile, hookimpl


def request_extras(request: ModelRequest) -> dict[str, Json]:
    """Its own name for the output limit, a switch for tools, and no `stream_options` at all."""
    extras: dict[str, Json] = {"stream_options": None}
    if request.tools:
        extras["tool_mode"] = "strict"
    if request.max_output:
        extras["nut_limit"] = request.max_output
    return extras


def parse_models(body: bytes) -> Sequence[ModelInfo]:
    """Its list of models says `window` where others say nothing."""
    import json

    rows = json.loads(body)["trees"]
    return [ModelInfo(id=row["name"], context_length=row["window"]) for row in rows]


def classify(error: ProviderError) -> str:
    """A 420 is its word for "slow down"; everything else is told well by the general rules."""
    return "rate_limit" if error.status == 420 else ""


@hookimpl
def hermes_register_providers() -> list[ProviderProfile]:
    """The one provider."""
    return [
        ProviderProfile(
            id="acorn",
            name="Acorn",
            hosts=("api.acorn.example",),
            base_url="https://api.acorn.example/v1",
            base_url_env="ACORN_BASE_URL",
            env=("ACORN_API_KEY",),
            key_header="x-acorn-key",
            default_model="oak-1",
            models=(ModelInfo(id="oak-1", context_length=128_000, max_output=8_000),),
            error_words={"out of acorns": "billing", "too many squirrels": "overloaded"},
            request_extras=request_extras,
            parse_models=parse_models,
            classify=classify,
            signup_url="https://acorn.example/keys",
        )
    ]
