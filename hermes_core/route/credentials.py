"""Keys: where a provider's keys come from.

Order: ``model.api_key`` for the chosen provider, then ``credentials.NAME.keys``, then the profile's
variables in the environment (with .env below it). Several make a pool (``pool.py``); a variable may
hold one key only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hermes_core.config_schema import Settings
from hermes_core.route.pool import Key
from hermes_plugins._providers import ProviderProfile


def key_of(profile: ProviderProfile, settings: Settings, environ: Mapping[str, str]) -> str:
    """The key to use, or "" where there is none."""
    return _found(profile, settings, environ)[0]


def keys_of(
    profile: ProviderProfile, settings: Settings, environ: Mapping[str, str]
) -> Sequence[Key]:
    """Every key of a provider, the one to use first at the front."""
    if profile.id not in settings.credentials:
        secret, source = _found(profile, settings, environ)
        return [Key(id=source, secret=secret)] if secret else []
    entries = [one for one in settings.credentials[profile.id].keys if one.key]
    own = settings.model.api_key if settings.model.provider in ("", profile.id) else ""
    if own or not entries:
        secret, source = _found(profile, settings, environ)
        return [Key(id=source, secret=secret)] if secret else []
    return [
        Key(id=one.id or f"key {number}", secret=one.key, priority=one.priority)
        for number, one in enumerate(entries, 1)
    ]


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
