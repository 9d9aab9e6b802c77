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
from hermes_core.toolsets import ToolsetSettings, face_toolsets, select
from hermes_plugins._catalog import (
    ListedTool,
    ModelChoice,
    ModelReply,
    PromptSetup,
    ProviderState,
    ToolsetState,
)
from hermes_plugins._dialects import ToolSpec
from hermes_plugins._errors import ProviderError
from hermes_plugins._faces import SessionWish
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
        return ToolsetState(
            name=found.name,
            plugin=found.plugin,
            tools=tuple(
                ListedTool(
                    name=tool.name, description=tool.description, off=reasons.get(tool.name, "")
                )
                for tool in tools
            ),
            faces=tuple(
                face for face, given in sorted(self._faces().items()) if found.name in given
            ),
            off=off,
            builtin=found.builtin,
        )

    def _faces(self) -> Mapping[str, set[str]]:
        """What each face of ``toolsets.by_face`` is given, as opening a session resolves it."""
        settings, host = self._runtime.config.settings.toolsets, self._runtime.host
        known = {one.name for one in host.found if one.group == "hermes.tools"}
        extra = {one.name for one in host.found if one.group == "hermes.tools" and not one.builtin}
        named = {
            name: ToolsetSettings(includes=one.includes, tools=one.tools)
            for name, one in settings.sets.items()
        }
        given: dict[str, set[str]] = {}
        for face in settings.by_face:
            listed, left_out = face_toolsets(settings.by_face, face)
            present = [name for name in listed if name in known or name in named]
            chosen = select(present, named=named, installed=known)
            given[face] = {*chosen.toolsets, *(extra - left_out)}
        return given

    async def prompt(self, *, session: str = "", face: str = "cli") -> PromptSetup:
        from hermes_core.anatomy import parts_of, sections

        if session:
            setup = await self._runtime.store.setup(session)
            system = setup.system
            tools = msgspec.json.decode(setup.tools, type=tuple[ToolSpec, ...])
        else:
            opened = await self._runtime.open_session(SessionWish(face=face))
            system, tools = opened.system, tuple(opened.tools)
            await opened.close()
        names = sorted(self._faces().get(face, ()))
        known = await sections(self._runtime, face=face, toolsets=names)
        return PromptSetup(system=system, parts=parts_of(system, known), tools=tools)


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
