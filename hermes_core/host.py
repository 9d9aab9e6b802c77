"""The plugin host: one object per profile; loading is a transaction with a report.

A plugin is loaded whole or not at all: import, instantiate, check its hooks against the groups that
name it, collect what it declares, compare that with what others declared, and only then register it.
Whatever fails is kept in `PluginHost.problems` with what to do about it; the host goes on without the
plugin, except that an enabled policy or a required plugin which is not loaded lets no agent start.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar, cast

import msgspec
import pluggy

from hermes_core.discovery import Discovery, Found
from hermes_core.dispatch import Dispatch, Fault
from hermes_core.hookspecs import HONOURED
from hermes_core.threads import Threads
from hermes_plugins._clock import Clock
from hermes_plugins._config import ConfigSection
from hermes_plugins._errors import HermesError, PluginError
from hermes_plugins._host import Host, PromptSection
from hermes_plugins._providers import ProviderProfile
from hermes_plugins._tools import Tool

T = TypeVar("T")

IMPORT_DEADLINE = 5.0
"""Seconds for a plugin's import (DESIGN: deadlines)."""
MAKE_DEADLINE = 1.0
"""Seconds for a constructor or a factory, as for declaring."""
MAX_PROBLEMS = 50
"""Problems that are kept of one plugin; what comes after is only in the log."""

_DECLARED: Final[Mapping[str, type]] = {
    "hermes_register_config": ConfigSection,
    "hermes_register_tools": Tool,
    "hermes_register_providers": ProviderProfile,
    "hermes_register_prompt_sections": PromptSection,
}

_log = logging.getLogger("hermes.host")


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Something about a plugin that its owner should know."""

    plugin: str
    text: str
    hint: str = ""


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin that is part of this host, and what it declared."""

    name: str
    value: str
    groups: tuple[str, ...]
    distribution: str
    version: str
    source: str = "installed"
    tools: tuple[Tool, ...] = ()
    providers: tuple[ProviderProfile, ...] = ()
    prompt_sections: tuple[PromptSection, ...] = ()
    config: tuple[ConfigSection, ...] = ()
    seconds: float = 0.0


class HostSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What configuration says about plugins. ``overrides`` is plugin name -> tool names."""

    enabled: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    overrides: Mapping[str, tuple[str, ...]] = {}


class PluginHost:
    """Finds, loads and registers plugins; two hosts in one process share nothing."""

    def __init__(
        self,
        *,
        settings: HostSettings,
        discovery: Discovery,
        clock: Clock,
        handle: Callable[[str], Host],
        fresh: bool = False,
    ) -> None:
        self._settings = settings
        self._discovery = discovery
        self._clock = clock
        self._threads = Threads("hermes-load")
        self._handle = handle
        self.problems: list[Problem] = []
        self.loaded: dict[str, Loaded] = {}
        self._failed: set[str] = set()
        self._refused: list[Found] = []
        self._drivers: dict[tuple[str, str], object] = {}
        self._services: dict[str, object] = {}
        self._loading = asyncio.Lock()
        found = discovery.find(fresh=fresh)
        for unread in discovery.unread:
            self.report_problem(unread.plugin, unread.text, unread.hint)
        self.found = self._identified(found)
        self.dispatch = Dispatch(
            clock=clock, handle=handle, rank=self.rank, report=self.report_problem
        )

    # -- what exists -------------------------------------------------------------------

    def why_off(self, found: Found) -> str:
        """ "" when the plugin may be loaded, else the reason, with the command that changes it.

        A plugin is meant by its name or its distribution's, never by the name of what it offers:
        switching one on must not switch on another that offers a thing of that name.
        """
        names = {found.plugin, found.distribution} - {""}
        if names & set(self._settings.disabled):
            return f"disabled; `hermes plugins enable {found.plugin}`"
        if found.default or found.source == "module" or names & set(self._settings.enabled):
            return ""
        return f"found but off; `hermes plugins enable {found.plugin}`"

    def names(self, group: str) -> tuple[str, ...]:
        """Names that are found and not off in a group, in the rank of their plugins."""
        offered = {
            one.name: (self.rank(one.plugin), one.name)
            for one in self.found
            if one.group == group and not self.why_off(one)
        }
        return tuple(sorted(offered, key=lambda name: offered[name]))

    def rank(self, name: str) -> tuple[int, str]:
        """Configuration order, then name."""
        try:
            return self._settings.enabled.index(name), name
        except ValueError:
            return len(self._settings.enabled), name

    def report_problem(self, plugin: str, text: str, hint: str = "") -> None:
        """Keep a problem once; it is shown by the start line, ``plugins list`` and ``doctor``."""
        problem = Problem(plugin=plugin, text=text, hint=hint)
        if problem in self.problems:
            return
        _log.warning("%s: %s %s", plugin or "host", text, hint)
        if sum(one.plugin == plugin for one in self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)

    # -- plugins -----------------------------------------------------------------------

    async def load(self, group: str, names: Iterable[str]) -> list[Loaded]:
        """Load plugins of one group by name; those that fail are in `problems`.

        Whoever replaces a tool by ``plugins.NAME.overrides`` comes along, so that the replacement
        holds whatever else was asked for.
        """
        async with self._loading:
            wanted = [
                one
                for name in dict.fromkeys([*names, *self._overriders(group)])
                for one in self.found
                if one.group == group and one.name == name and not self.why_off(one)
            ]
            fresh = {self._name_of(one): one for one in wanted}
            prepared = [
                ready
                for name, one in fresh.items()
                if name not in self.loaded and (ready := await self._prepare(one))
            ]
            for loaded in self._without_collisions([one for one, _ in prepared]):
                plugin = next(plugin for one, plugin in prepared if one is loaded)
                self._register(loaded, plugin)
            self._apply_overrides()
            return [self.loaded[name] for name in fresh if name in self.loaded]

    async def load_policies(self) -> None:
        """Load every enabled policy, before any agent, and what ``plugins.required`` names.

        Raises:
            PluginError: one is not loaded; the message names the command that disables it.
        """
        await self.load("hermes.policies", self.names("hermes.policies"))
        for found in (*self.found, *self._refused):
            if found.group != "hermes.policies" or found.source == "module" or self.why_off(found):
                continue
            if self._name_of(found) not in self.loaded:
                raise PluginError(
                    found.plugin,
                    f"this policy is enabled but not loaded: {self._reason(found)}",
                    hint=f"No agent starts without it. Mend it, or run "
                    f"`hermes plugins disable {found.plugin}`.",
                )
        for name in self._settings.required:
            await self._load_required(name)

    async def _load_required(self, name: str) -> None:
        for found in self._meant(name):
            if found.group in HONOURED:
                await self.load(found.group, [found.name])
            elif found.group != "hermes.commands":
                with suppress(PluginError):
                    self.report_failure(await self._tried(found))

    def check_required(self) -> None:
        """Refuse to go on without what ``plugins.required`` names.

        Raises:
            PluginError: a required plugin is missing or off.
        """
        for name in self._settings.required:
            known = [one for one in self.found if name in (one.plugin, one.name)]
            if not known:
                raise PluginError(
                    name,
                    "required by plugins.required but not installed.",
                    hint=f"`hermes plugins install hermes-plugin-{name}`",
                )
            if reason := self.why_off(known[0]):
                raise PluginError(name, f"required by plugins.required but {reason}")

    # -- drivers and services ----------------------------------------------------------

    async def driver(self, group: str, name: str) -> object:
        """The class, command or factory that an entry point of a driver group names.

        Raises:
            PluginError: nobody offers it, it is off, or its import fails.
        """
        key = (group, name)
        if key in self._drivers:
            return self._drivers[key]
        offered = [one for one in self.found if one.group == group and one.name == name]
        kind = group.removeprefix("hermes.").removesuffix("s")
        if not offered:
            known = ", ".join(self.names(group)) or "none"
            raise PluginError(name, f"no installed plugin offers this {kind} (there is: {known}).")
        usable = [one for one in offered if not self.why_off(one)]
        if not usable:
            raise PluginError(name, f"this {kind} is {self.why_off(offered[0])}")
        target = await self._import(usable[0])
        self._drivers[key] = target
        return target

    async def services(self, family: str) -> list[object]:
        """The services of a family, in rank order; one that cannot be made is reported."""
        made: list[object] = []
        for name in self.names("hermes.services"):
            if name.partition(".")[0] != family:
                continue
            try:
                factory = cast("Callable[[], object]", await self.driver("hermes.services", name))
                made.append(await self._threads.run(factory))
            except HermesError as error:
                self.report_problem(name, error.message, error.hint)
        return made

    def close(self) -> None:
        """Let the host's threads end."""
        self.dispatch.close()
        self._threads.close()

    # -- one load, step by step --------------------------------------------------------

    async def _prepare(self, found: Found) -> Loaded | None:
        name = self._name_of(found)
        if name in self._failed:
            return None
        started = self._clock.monotonic()
        try:
            plugin = await self._import(found)
            if inspect.isclass(plugin):
                plugin = await self._bounded(found.plugin, "its constructor", 1.0, plugin)
            groups = self._groups_of(found)
            self._check_hooks(found, plugin, groups)
            self.dispatch.add(name, plugin)
            declared = {
                hook: await self._declared(found, name, hook, kind)
                for hook, kind in _DECLARED.items()
            }
        except (HermesError, Fault, ValueError, pluggy.PluginValidationError) as error:
            self._drop(found, error)
            return None
        loaded = Loaded(
            name=name,
            value=found.value,
            groups=groups,
            distribution=found.distribution,
            version=found.version,
            source=found.source,
            tools=cast("tuple[Tool, ...]", declared["hermes_register_tools"]),
            providers=cast("tuple[ProviderProfile, ...]", declared["hermes_register_providers"]),
            prompt_sections=cast(
                "tuple[PromptSection, ...]", declared["hermes_register_prompt_sections"]
            ),
            config=cast("tuple[ConfigSection, ...]", declared["hermes_register_config"]),
            seconds=self._clock.monotonic() - started,
        )
        if problem := self._tool_problem(found, loaded):
            self._drop(found, problem)
            return None
        return loaded

    async def _import(self, found: Found) -> object:
        if found.requires_host and (problem := _outside(found.requires_host)):
            raise PluginError(found.plugin, problem)
        return await self._bounded(
            found.plugin, "its import", IMPORT_DEADLINE, lambda: self._discovery.load(found)
        )

    async def _bounded(
        self, plugin: str, what: str, seconds: float, function: Callable[[], T]
    ) -> T:
        """Run a plugin's own code in a thread, under a deadline."""
        try:
            async with self._clock.timeout(seconds):
                return await self._threads.run(function)
        except TimeoutError:
            raise PluginError(plugin, f"{what} took longer than {seconds:g} s.") from None
        except HermesError:
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "CancelledError":
                raise
            _log.warning("plugin %s: %s failed", plugin, what, exc_info=error)
            raise PluginError(
                plugin,
                f"{what} failed ({type(error).__name__}: {error}).",
                hint=f"`hermes plugins disable {plugin}` starts without it.",
            ) from error

    def _check_hooks(self, found: Found, plugin: object, groups: tuple[str, ...]) -> None:
        hooks = self.dispatch.marked_hooks(plugin)
        check_marks(found.plugin, hooks)
        if found.source == "module":
            return
        honoured = frozenset[str]().union(*(HONOURED[group] for group in groups))
        for hook in hooks:
            homes = [group for group, names in HONOURED.items() if hook in names]
            if homes and hook not in honoured:
                raise PluginError(
                    found.plugin,
                    f"{hook} is not honoured in {', '.join(groups)}.",
                    hint=f"Name the plugin in the entry-point group {homes[-1]} too.",
                )
        for name in dir(plugin):
            if (
                name.startswith("hermes_")
                and name not in hooks
                and callable(getattr(plugin, name, None))
            ):
                self.report_problem(
                    found.plugin, f"{name} is not marked with @hookimpl and is never called"
                )

    async def _declared(self, found: Found, name: str, hook: str, kind: type) -> tuple[object, ...]:
        values = tuple(await self.dispatch.collect(name, hook))
        for value in values:
            if not isinstance(value, kind):
                raise PluginError(
                    found.plugin,
                    f"{hook} gave a {type(value).__name__} where a {kind.__name__} belongs.",
                )
        return values

    def _tool_problem(self, found: Found, loaded: Loaded) -> PluginError | None:
        toolsets = {
            one.name
            for one in self.found
            if one.value == found.value and one.group in ("hermes.tools", "hermes.memory")
        }
        for tool in loaded.tools:
            if tool.toolset not in toolsets and found.source != "module":
                return PluginError(
                    found.plugin,
                    f"tool {tool.name} belongs to toolset {tool.toolset!r}, which no entry point "
                    f"of this plugin names (there is: {', '.join(sorted(toolsets))}).",
                )
        return None

    def _without_collisions(self, prepared: Sequence[Loaded]) -> list[Loaded]:
        """Leave out who offers a name that is taken; the same whatever the order of loading.

        A built-in keeps its name unless ``plugins.NAME.overrides`` gives it away; among strangers
        nobody gets it.
        """
        everyone = [*self.loaded.values(), *prepared]
        owners: dict[str, list[Loaded]] = {}
        for one in everyone:
            for label in _labels(one):
                owners.setdefault(label, []).append(one)
        losers: dict[str, str] = {}
        for label, claimants in owners.items():
            if len(claimants) > 1:
                self._settle(label, claimants, losers)
        kept = []
        for loaded in prepared:
            if loaded.name in losers:
                self.dispatch.remove(loaded.name)
                self._failed.add(loaded.name)
                self.report_problem(loaded.name, losers[loaded.name])
            else:
                kept.append(loaded)
        return kept

    def _settle(self, label: str, claimants: Sequence[Loaded], losers: dict[str, str]) -> None:
        kind, _, name = label.partition(" ")
        chosen = [c for c in claimants if name in self._settings.overrides.get(c.name, ())]
        builtin = [c for c in claimants if self._is_builtin(c)]
        winner = chosen[0] if len(chosen) == 1 else builtin[0] if builtin else None
        for one in claimants:
            if one is winner or (chosen and one in builtin):
                continue  # a built-in that is overridden loses that one tool, not its place
            others = " and ".join(c.name for c in claimants if c is not one)
            losers[one.name] = (
                f"{kind} {name} is also offered by {others}. "
                f"To prefer this one, set plugins.{one.name}.overrides: [{name}]"
            )

    def _apply_overrides(self) -> None:
        """Take overridden tools away from the plugins that had them."""
        for name in self.loaded:
            replaced = self._settings.overrides.get(name, ())
            for other in list(self.loaded.values()) if replaced else ():
                if other.name != name:
                    kept = tuple(tool for tool in other.tools if tool.name not in replaced)
                    self.loaded[other.name] = msgspec.structs.replace(other, tools=kept)

    def _drop(self, found: Found, error: Exception) -> None:
        name = self._name_of(found)
        self._failed.add(name)
        self.dispatch.remove(name)
        if isinstance(error, HermesError):
            self.report_problem(found.plugin, error.message.split(": ", 1)[-1], error.hint)
        else:
            self.report_problem(found.plugin, str(error).splitlines()[-1])

    # -- identity ----------------------------------------------------------------------

    def _name_of(self, found: Found) -> str:
        """One identity however found: the target decides, the first distribution names it."""
        return next((one.plugin for one in self.found if one.value == found.value), found.plugin)

    def _groups_of(self, found: Found) -> tuple[str, ...]:
        groups = (one.group for one in self.found if one.value == found.value)
        return tuple(group for group in dict.fromkeys(groups) if group in HONOURED)

    def _is_builtin(self, loaded: Loaded) -> bool:
        return any(one.builtin for one in self.found if one.value == loaded.value)

    def _identified(self, found: Sequence[Found]) -> tuple[Found, ...]:
        """Refuse two distributions that offer one name in one group; built-ins keep theirs."""
        offers: dict[tuple[str, str], list[Found]] = {}
        for one in found:
            offers.setdefault((one.group, one.name), []).append(one)
        kept: list[Found] = []
        for (group, name), claimants in offers.items():
            usable = [one for one in claimants if not self.why_off(one)]
            if len({one.value for one in usable}) <= 1:
                kept += (
                    claimants
                    if not usable
                    else [*usable[:1], *(c for c in claimants if c not in usable)]
                )
                continue
            builtin = [one for one in usable if one.builtin]
            kept += builtin[:1]
            names = " and ".join(one.distribution or one.value for one in usable)
            for one in usable:
                if one not in builtin[:1]:
                    self.report_problem(
                        one.plugin,
                        f"{names} both offer {name} in {group}",
                        f"`hermes plugins disable {one.plugin}`, or uninstall one of them.",
                    )
        order = {one: position for position, one in enumerate(found)}
        return tuple(sorted(kept, key=lambda one: order[one]))


def _labels(loaded: Loaded) -> Iterable[str]:
    for tool in loaded.tools:
        yield f"tool {tool.name}"
        for alias in tool.aliases:
            yield f"tool {alias}"
    for profile in loaded.providers:
        yield f"provider {profile.id}"
        for alias in profile.aliases:
            yield f"provider {alias}"


def _outside(requirement: str) -> str:
    """ "" when this host's version is in the range a plugin asks for, else one line."""
    from hermes_core import __version__

    have = _numbers(__version__)
    for part in requirement.split(","):
        part = part.strip()
        operator = part.rstrip("0123456789.*abcrdevpost+-")
        wanted = _numbers(part[len(operator) :])
        width = len(wanted)
        fits = {
            ">=": have >= wanted,
            ">": have > wanted,
            "<": have < wanted,
            "<=": have <= wanted,
            "==": have[:width] == wanted,
            "!=": have[:width] != wanted,
            "~=": have >= wanted and have[: width - 1] == wanted[: width - 1],
        }.get(operator.strip(), True)
        if not fits:
            return f"needs hermes-host {requirement}, this is {__version__}."
    return ""


def _numbers(version: str) -> tuple[int, ...]:
    pieces = version.replace("*", "").strip(".").split(".")
    return tuple(int("".join(filter(str.isdigit, piece)) or 0) for piece in pieces)
