"""Keys: where a provider's key comes from. First version: one key a provider.

Order: ``model.api_key`` for the chosen provider, the first of ``credentials.NAME.keys`` by priority,
the profile's variables in the environment (with .env below it). Pools come later; their seam is
`key_of`, asked once per session.
"""

from __future__ import annotations

from collections.abc import Mapping

from hermes_core.config_schema import Settings
from hermes_plugins._providers import ProviderProfile


def key_of(profile: ProviderProfile, settings: Settings, environ: Mapping[str, str]) -> str:
    """The key to use, or "" where there is none."""
    return _found(profile, settings, environ)[0]


def key_source(profile: ProviderProfile, settings: Settings, environ: Mapping[str, str]) -> str:
    """The setting or variable that the key comes from, or "" where there is none."""
    return _found(profile, settings, environ)[1]


def _found(
    profile: ProviderProfile, settings: Settings, environ: Mapping[str, str]
) -> tuple[str, str]:
    if settings.model.api_key and settings.model.provider in ("", profile.id):
        return settings.model.api_key, "model.api_key"
    if pool := settings.credentials.get(profile.id):
        for entry in sorted(pool.keys, key=lambda one: one.priority):
            if entry.key:
                return entry.key, "credentials"
    names = profile.env
    if override := settings.providers.get(profile.id):
        names = (*override.env, *names)
    return next(((environ[name], name) for name in names if environ.get(name)), ("", ""))


def headers_of(profile: ProviderProfile, key: str) -> dict[str, str]:
    """The headers of a request; none for the key where there is none."""
    headers = dict(profile.headers)
    if key:
        bearer = profile.key_header.lower() == "authorization"
        headers[profile.key_header] = f"Bearer {key}" if bearer else key
    return headers
