"""What there is to choose from: the kit's `Catalog` on a runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from hermes_core.discovery import Found
from hermes_core.hookspecs import HONOURED
from hermes_core.loaded import Loaded
from hermes_core.registry import Owned, permitted
from hermes_core.route.ask import Route
from hermes_core.route.route import MODELS_SECONDS, Wanted
from hermes_plugins._catalog import (
    ListedTool,
    ModelChoice,
    ModelReply,
    ProviderState,
    ToolsetState,
)
from hermes_plugins._errors import ProviderError
from hermes_plugins._providers import ModelInfo
from hermes_plugins._setup import SetupSection
from hermes_plugins._tools import Tool

if TYPE_CHECKING:
    from hermes_core.runtime import Runtime


class RuntimeCatalog:
    """Implements the kit's `Catalog`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def providers(self) -> Sequence[ProviderState]:
        return await self._runtime.router().states()

    async def models(self, provider: str) -> Sequence[ModelInfo]:
        router = self._runtime.router()
        profile = await router.profile(provider)
        try:
            return await router.models(profile)
        except TimeoutError:
            raise ProviderError(
                f"no list of models within {MODELS_SECONDS:g} s", reason="timeout"
            ) from None
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:  # a web page, say
            raise ProviderError("no list of models", reason="malformed_response") from error

    async def choose(self, model: str = "", provider: str = "") -> ModelChoice:
        return _choice(await self._runtime.router().resolve(Wanted(model=model, provider=provider)))

    async def probe(self, model: str = "", provider: str = "") -> ModelReply:
        from hermes_core.route.probe import probe

        runtime = self._runtime
        route = await runtime.router().resolve(Wanted(model=model, provider=provider))
        began = runtime.clock.monotonic()
        answer = await probe(route, runtime.clock, redact=runtime.redactor.redact)
        return ModelReply(
            choice=_choice(route),
            text=answer.text,
            seconds=runtime.clock.monotonic() - began,
            usage=answer.usage,
        )

    async def setup(self) -> Sequence[SetupSection]:
        host = self._runtime.host
        loaded = {
            one.name: one for group in HONOURED for one in await host.load(group, host.names(group))
        }
        ranked = sorted(loaded, key=host.rank)
        return [section for name in ranked for section in loaded[name].setup]

    async def toolsets(self) -> Sequence[ToolsetState]:
        host = self._runtime.host
        names = host.names("hermes.tools")
        loaded = await host.load("hermes.tools", names)
        found = sorted({one.name: one for one in host.found if one.group == "hermes.tools"}.items())
        reasons = await self._reasons(loaded)
        return [self._state(one, loaded, reasons, names) for _, one in found]

    async def _reasons(self, loaded: Sequence[Loaded]) -> Mapping[str, str]:
        """Why tools are off, by name: the settings, or their own check."""
        settings = self._runtime.config.settings.tools
        owned = [Owned(tool, plugin.name) for plugin in loaded for tool in plugin.tools]
        kept = permitted(owned, allowed=settings.allowed, blocked=settings.blocked)
        checked = await self._runtime.availability.reasons(one.tool for one in kept)
        allowed = {one.tool.name for one in kept}
        return {
            one.tool.name: checked.get(one.tool.name, "")
            if one.tool.name in allowed
            else "tools.allowed and tools.blocked leave it out"
            for one in owned
        }

    def _state(
        self,
        found: Found,
        loaded: Sequence[Loaded],
        reasons: Mapping[str, str],
        names: Sequence[str],
    ) -> ToolsetState:
        host = self._runtime.host
        tools: list[Tool] = [
            tool for plugin in loaded for tool in plugin.tools if tool.toolset == found.name
        ]
        off = host.why_off(found)
        if not off and found.name in names and found.plugin not in host.loaded:
            told = (one.text for one in reversed(host.problems) if one.plugin == found.plugin)
            off = next(told, "not loaded")
        by_face = self._runtime.config.settings.toolsets.by_face
        return ToolsetState(
            name=found.name,
            plugin=found.plugin,
            tools=tuple(
                ListedTool(
                    name=tool.name, description=tool.description, off=reasons.get(tool.name, "")
                )
                for tool in tools
            ),
            faces=tuple(sorted(face for face, sets in by_face.items() if found.name in sets)),
            off=off,
            builtin=found.builtin,
        )


def _choice(route: Route) -> ModelChoice:
    return ModelChoice(
        label=route.label,
        url=route.endpoint.url,
        dialect=route.dialect_name,
        info=route.model,
        provider=route.profile.id,
        base_url=route.profile.base_url,
        address=route.address,
        key=route.key,
        stand_in=route.profile.stand_in and not route.address,
    )
