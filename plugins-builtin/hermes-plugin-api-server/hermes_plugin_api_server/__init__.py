"""The face api-server. The server stands in ``server.py``, imported when the gateway starts it."""

from __future__ import annotations

from typing import Annotated

from hermes_plugins import (
    ConfigError,
    ConfigSection,
    FaceHost,
    FaceSpec,
    GatewayFace,
    Host,
    Meta,
    Section,
    hookimpl,
)

KEY = "API_SERVER_KEY"
KEY_CHARS = 16
"""A shorter key can be guessed; whoever has it can use every tool of this face."""


class Settings(Section, frozen=True, kw_only=True):
    """Section ``plugins.api-server``. The key stands in .env: API_SERVER_KEY."""

    host: Annotated[str, Meta(description="address to listen on", min_length=1)] = "127.0.0.1"
    port: Annotated[int, Meta(description="port to listen on", ge=0, le=65535)] = 8642
    key: Annotated[
        str, Meta(description="key that clients send; better in .env", extra={"secret": True})
    ] = ""
    model_name: Annotated[
        str, Meta(description="what clients call the configured model", min_length=1)
    ] = "hermes"
    models: Annotated[
        tuple[str, ...],
        Meta(description="`provider/model`s that clients may ask for besides; `*` is every one"),
    ] = ()
    max_runs: Annotated[
        int, Meta(description="requests answered at once; more are told to come back", ge=1)
    ] = 1000
    max_body_megabytes: Annotated[float, Meta(description="longest request", gt=0)] = 10.0
    keepalive: Annotated[
        float, Meta(description="seconds of silence before a stream shows that it lives", gt=0)
    ] = 30.0
    cors_origins: Annotated[
        tuple[str, ...], Meta(description="web pages that browsers may let in: their origins")
    ] = ()


@hookimpl
def hermes_register_config() -> list[ConfigSection]:
    """Where it listens, and what it lets through."""
    return [ConfigSection(name="api-server", schema=Settings, env=(KEY,))]


@hookimpl
def hermes_register_platforms() -> list[FaceSpec]:
    """The one face."""
    return [FaceSpec(id="api-server", make=_make, check=check)]


def key_of(host: Host) -> str:
    """The key that clients have to send; "" where none is set."""
    return host.secret(KEY) or host.section(Settings).key


def check(host: Host) -> None:
    """Refuse to start without a key that cannot be guessed.

    Raises:
        ConfigError: there is none, or it is too short.
    """
    length = len(key_of(host).strip())
    if length < KEY_CHARS:
        wanted = f"a key of {KEY_CHARS} or more characters"
        raise ConfigError(
            f"the API server needs {wanted}; {f'its key has {length}' if length else 'none is set'}.",
            hint=f"`openssl rand -hex 24 | hermes config set {KEY}`",
        )


def _make(face: FaceHost) -> GatewayFace:
    from .server import ApiServer

    return ApiServer(face)
