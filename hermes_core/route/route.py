"""Choosing a model: from ``provider/model``, the settings and what is there, to a `Route`.

With ``auto`` the usable provider with the lowest priority number is taken: one whose key is set,
then a local server whose port answers, then what needs neither (the offline model). No provider is
named here; all facts come from the profiles.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import cast
from urllib.parse import quote, urlsplit

import msgspec

from hermes_core.config_schema import Settings
from hermes_core.declarations import Declarations
from hermes_core.discovery import Found
from hermes_core.host import PluginHost
from hermes_core.route.ask import Route
from hermes_core.route.credentials import headers_of, key_of, key_source, keys_of
from hermes_core.route.pool import KeyPool
from hermes_plugins._catalog import ProviderState
from hermes_plugins._clock import Clock
from hermes_plugins._dialects import Dialect, Endpoint
from hermes_plugins._errors import PluginError, ProviderError, UsageError
from hermes_plugins._http import HttpClient
from hermes_plugins._providers import ModelInfo, ProviderProfile
from hermes_plugins._store import Records

PROBE_SECONDS = 0.3
"""How long a local server may take to accept a connection."""
MODELS_SECONDS = 8.0
"""How long a list of models may take (reference: fetch_models)."""


LISTED = 12
"""Providers that an error names; more are no help."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for; "" leaves it to the settings."""

    model: str = ""
    provider: str = ""


class Router:
    """Finds the route of a session."""

    def __init__(
        self,
        *,
        host: PluginHost,
        settings: Settings,
        environ: Mapping[str, str],
        http: HttpClient,
        clock: Clock,
        declarations: Declarations,
        records: Records,
    ) -> None:
        self._records = records
        self._declarations = declarations
        self._host = host
        self._settings = settings
        self._environ = environ
        self._http = http
        self._clock = clock

    async def resolve(self, wanted: Wanted) -> Route:
        """The route for a session.

        Raises:
            UsageError: the provider or model is unknown, or its key is missing.
        """
        profiles = await self._profiles()
        profile, model = await self._choose(wanted, profiles)
        return await self._route(await self._whole(profile), model)

    async def is_connected(self) -> bool:
        """Whether the settings name a model, or there is one to take; False where a stand-in answers."""
        own = self._settings.model
        if own.name != "auto" or own.provider or own.base_url:
            return True
        try:
            return not (await self._automatic(await self._profiles())).stand_in
        except UsageError:
            return False

    async def known(self) -> Sequence[str]:
        """``provider/model``s of usable providers, without asking any of them."""
        profiles = {one.id: one for one in (await self._profiles()).values()}
        return sorted(
            {
                f"{profile.id}/{name}"
                for profile in profiles.values()
                if self._url_of(profile) and (self._has_key(profile) or not profile.key_required)
                for name in (profile.default_model, *(model.id for model in profile.models))
                if name
            }
        )

    async def states(self) -> Sequence[ProviderState]:
        """Every provider that is on, by id, and what it lacks; asks none of them."""
        profiles = {one.id: one for one in (await self._profiles()).values()}
        return [
            ProviderState(
                profile=one,
                url=self._url_of(one),
                key=key_source(one, self._settings, self._environ),
            )
            for _, one in sorted(profiles.items())
        ]

    async def profile(self, name: str) -> ProviderProfile:
        """One provider by id or alias, with its code.

        Raises:
            UsageError: there is no such provider.
        """
        return await self._whole(self._named(name, await self._profiles()))

    async def models(self, profile: ProviderProfile) -> Sequence[ModelInfo]:
        """The models a provider lists now.

        Raises:
            ProviderError: it does not answer, or not with a list.
        """
        profile = self._overridden(profile)
        key = key_of(profile, self._settings, self._environ)
        async with self._clock.timeout(MODELS_SECONDS):
            response = await self._http.open(
                "GET", profile.base_url.rstrip("/") + "/models", headers=headers_of(profile, key)
            )
            try:
                body = await response.read()
            finally:
                await response.aclose()
        if response.status != 200:
            raise ProviderError(
                f"no list of models, status {response.status}", status=response.status
            )
        return (profile.parse_models or parse_models)(body)

    # -- choosing ----------------------------------------------------------------------

    async def _profiles(self) -> dict[str, ProviderProfile]:
        """Facts by id and alias; custom ones of ``providers`` stand on the ``custom`` profile.

        Plugins whose facts are kept are not imported for it.
        """
        facts: dict[str, ProviderProfile] = {}
        for profile in await self._facts():
            for name in (profile.id, *profile.aliases):
                facts[name] = profile
        for name, override in self._settings.providers.items():
            if name not in facts and override.base_url and self._failure(name) is None:
                base = facts.get("custom", ProviderProfile(id="custom", key_required=False))
                facts[name] = msgspec.structs.replace(
                    base, id=name, aliases=(), base_url=override.base_url
                )
        return facts

    async def _facts(self) -> list[ProviderProfile]:
        offered = self._offered()
        kept = {value: self._declarations.of(one) for value, one in offered.items()}
        ids = [one.id for profiles in kept.values() for one in profiles or ()]
        unknown = [
            offered[value].name
            for value, profiles in kept.items()
            if profiles is None or len(set(ids)) != len(ids)  # a collision is the host's to settle
        ]
        loaded = await self._host.load("hermes.providers", unknown)
        fresh = {one.value: one.providers for one in loaded}
        if fresh:
            self._declarations.keep((offered[value], known) for value, known in fresh.items())
        lost = {offered[value].name for value in offered} & set(unknown)
        return [
            profile
            for value, known in kept.items()
            for profile in fresh.get(value, () if offered[value].name in lost else known or ())
        ]

    def _offered(self) -> dict[str, Found]:
        return {
            one.value: one
            for one in self._host.found
            if one.group == "hermes.providers" and not self._host.why_off(one)
        }

    async def _whole(self, facts: ProviderProfile) -> ProviderProfile:
        """The profile with its code: loads the plugin that declared it.

        Raises:
            PluginError: that plugin is broken; its facts alone are not what was chosen.
        """
        for one in self._offered().values():
            known = self._declarations.of(one)
            if known is None or any(profile.id == facts.id for profile in known):
                for loaded in await self._host.load("hermes.providers", [one.name]):
                    for profile in loaded.providers:
                        if profile.id == facts.id:
                            return profile
                if known is not None and (failure := self._failure(one.name)):
                    raise failure
        return facts

    async def _choose(
        self, wanted: Wanted, profiles: Mapping[str, ProviderProfile]
    ) -> tuple[ProviderProfile, str]:
        name = wanted.model or self._settings.model.name
        provider = wanted.provider or self._settings.model.provider
        if provider:
            return self._named(provider, profiles), "" if name == "auto" else name
        if name != "auto":
            first, slash, rest = name.partition("/")
            if slash and first in profiles:
                return profiles[first], rest
            if slash and (failure := self._failure(first)):
                raise failure
            if found := self._by_model(name, profiles):
                return found, name
        if self._settings.model.base_url:
            return self._by_url(self._settings.model.base_url, profiles), (
                "" if name == "auto" else name
            )
        chosen = await self._automatic(profiles)
        if name == "auto":
            return chosen, ""
        if not chosen.stand_in:
            return chosen, name
        raise UsageError(  # what is left stands in for a model; it is not what was asked for
            f"no provider for the model {name!r}: none has a key, and no local server answers.",
            hint="Name one as PROVIDER/MODEL; `hermes config set OPENROUTER_API_KEY …` gives it a key.",
        )

    def _named(self, provider: str, profiles: Mapping[str, ProviderProfile]) -> ProviderProfile:
        if provider in profiles:
            return profiles[provider]
        if failure := self._failure(provider):
            raise failure
        for one in self._host.found:
            off = self._host.why_off(one)
            if off and one.group == "hermes.providers" and one.name == provider:
                raise UsageError(f"the provider {provider} is {off}")
        from difflib import get_close_matches

        close = get_close_matches(provider, profiles, n=1, cutoff=0.7)
        guess = f" Did you mean {close[0]}?" if close else ""
        raise UsageError(
            f"no provider {provider!r} is installed.{guess}",
            hint=_listed(sorted({one.id for one in profiles.values()})),
        )

    def _failure(self, provider: str) -> PluginError | None:
        """Why the plugin that offers a provider is not loaded; None when no such plugin failed."""
        for one in self._host.found:
            if one.group == "hermes.providers" and one.name == provider:
                for problem in reversed(self._host.problems):
                    if problem.plugin == one.plugin:
                        return PluginError(one.plugin, problem.text, hint=problem.hint)
        return None

    def _by_model(
        self, name: str, profiles: Mapping[str, ProviderProfile]
    ) -> ProviderProfile | None:
        """The one provider that lists this model.

        Raises:
            UsageError: several do; the message shows every spelling.
        """
        owners = {
            one.id: one
            for one in profiles.values()
            if name == one.default_model or any(model.id == name for model in one.models)
        }
        usable = {key: one for key, one in owners.items() if self._has_key(one)} or owners
        if len(usable) > 1:
            spellings = " or ".join(f"{key}/{name}" for key in sorted(usable))
            raise UsageError(f"several providers have {name}.", hint=f"Say which: {spellings}.")
        return next(iter(usable.values()), None)

    def _by_url(self, url: str, profiles: Mapping[str, ProviderProfile]) -> ProviderProfile:
        host = urlsplit(url).hostname or ""
        for profile in profiles.values():
            if host in profile.hosts:
                return profile
        return profiles.get("custom") or ProviderProfile(id="custom", key_required=False)

    async def _automatic(self, profiles: Mapping[str, ProviderProfile]) -> ProviderProfile:
        ranked = sorted(
            {one.id: one for one in profiles.values()}.values(),
            key=lambda one: (one.priority, one.id),
        )
        keyed = [one for one in ranked if one.env and self._has_key(one) and self._url_of(one)]
        if keyed:
            return keyed[0]
        for profile in ranked:
            if profile.local and await _answers(self._url_of(profile), self._clock):
                return profile
        for profile in ranked:
            if not (profile.key_required or profile.local) and profile.base_url:
                return profile
        raise UsageError(
            "no model provider is usable.",
            hint="Set a key: `hermes config set OPENROUTER_API_KEY …`, or start a local server.",
        )

    def _has_key(self, profile: ProviderProfile) -> bool:
        return bool(key_of(profile, self._settings, self._environ))

    # -- building ----------------------------------------------------------------------

    def _url_of(self, profile: ProviderProfile) -> str:
        return self._address(profile)[0]

    def _address(self, profile: ProviderProfile) -> tuple[str, str]:
        """A provider's address, and the setting or variable that holds it; "" for the profile's own."""
        override = self._settings.providers.get(profile.id)
        own = self._settings.model
        if own.base_url and own.provider in ("", profile.id):
            host = urlsplit(own.base_url).hostname or ""
            if own.provider or profile.id == "custom" or host in profile.hosts:
                return own.base_url, "model.base_url"
        if override and override.base_url:
            return override.base_url, f"providers.{profile.id}.base_url"
        if given := self._environ.get(profile.base_url_env, ""):
            return given, profile.base_url_env
        return profile.base_url, ""

    def _overridden(self, profile: ProviderProfile) -> ProviderProfile:
        override = self._settings.providers.get(profile.id)
        headers = {**profile.headers, **(override.headers if override else {})}
        dialect = (override.dialect if override else "") or profile.dialect
        return msgspec.structs.replace(
            profile, base_url=self._url_of(profile), headers=headers, dialect=dialect
        )

    async def _route(self, profile: ProviderProfile, model: str) -> Route:
        _, address = self._address(profile)
        profile = self._overridden(profile)
        key = key_of(profile, self._settings, self._environ)
        if profile.key_required and not key:
            name = profile.env[0] if profile.env else f"credentials.{profile.id}.keys"
            raise UsageError(
                f"{profile.name or profile.id} needs a key.",
                hint=f"`hermes config set {name} …`"
                + (f"  (get one at {profile.signup_url})" if profile.signup_url else ""),
            )
        if not profile.base_url:
            setting = "model" if profile.id == "custom" else f"providers.{profile.id}"
            raise UsageError(
                f"{profile.id} has no address.",
                hint=f"`hermes config set {setting}.base_url http://HOST:PORT/v1`",
            )
        info = await self._model(profile, model)
        name = self._settings.model.dialect or _dialect_of(profile, info.id)
        driver = cast("type[Dialect]", await self._host.driver("hermes.dialects", name))
        dialect = driver()
        return Route(
            profile=profile,
            model=info,
            endpoint=Endpoint(
                http=self._http,
                url=profile.base_url.rstrip("/") + _path_of(dialect, info.id),
                headers=headers_of(profile, key),
                timeouts=profile.timeouts,
                provider=profile.id,
            ),
            dialect=dialect,
            dialect_name=name,
            label=f"{profile.id}/{info.id}",
            address=address,
            keys=self._pool(profile),
            key=key_source(profile, self._settings, self._environ),
        )

    def _pool(self, profile: ProviderProfile) -> KeyPool | None:
        """The keys of a provider where there are several; one alone stands in the endpoint."""
        keys = keys_of(profile, self._settings, self._environ)
        if len(keys) < 2:
            return None
        return KeyPool(
            profile.id,
            keys,
            strategy=self._settings.credentials[profile.id].strategy,
            records=self._records,
            clock=self._clock,
            random=random.random,
        )

    async def _model(self, profile: ProviderProfile, model: str) -> ModelInfo:
        """Facts of the chosen model; without a name the profile's default, or the first listed."""
        name = model or profile.default_model
        if not name:
            override = self._settings.providers.get(profile.id)
            name = override.models[0] if override and override.models else ""
        if not name:
            try:
                listed = await self.models(profile)
            except (ProviderError, TimeoutError, msgspec.MsgspecError) as error:
                raise UsageError(
                    f"{profile.id} does not say which models it has ({error}).",
                    hint=f"Name one: `hermes chat --model {profile.id}/MODEL`",
                ) from error
            if not listed:
                raise UsageError(
                    f"{profile.id} has no model yet.", hint=f"Load one in {profile.id} first."
                )
            name = listed[0].id
        known = next((one for one in profile.models if one.id == name), None)
        info = known or ModelInfo(id=name, context_length=profile.context_length)
        if self._settings.model.context_length:
            return msgspec.structs.replace(info, context_length=self._settings.model.context_length)
        return info


def _listed(names: Sequence[str]) -> str:
    """What there is, where that fits on a line."""
    if len(names) > LISTED:
        return f"`hermes plugins list` shows all {len(names)}."
    return f"There is: {', '.join(names)}."


def _path_of(dialect: Dialect, model: str) -> str:
    return dialect.path.replace("{model}", quote(model, safe=""))


def parse_models(body: bytes) -> list[ModelInfo]:
    """Read the usual answer of ``GET /models``: ``data[].id``."""
    raw = msgspec.json.decode(body)
    items = raw.get("data", []) if isinstance(raw, dict) else []
    return [
        ModelInfo(id=str(item["id"])) for item in items if isinstance(item, dict) and "id" in item
    ]


def _dialect_of(profile: ProviderProfile, model: str) -> str:
    prefixes = [prefix for prefix in profile.dialect_by_model if model.startswith(prefix)]
    return profile.dialect_by_model[max(prefixes, key=len)] if prefixes else profile.dialect


async def _answers(url: str, clock: Clock) -> bool:
    """True when something accepts connections at the address."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        async with clock.timeout(PROBE_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
