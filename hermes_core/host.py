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
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from typing import Final, TypeAlias, TypeVar, cast

import msgspec
import pluggy

from hermes_core.collisions import declaration_problem, losers, refused, with_overrides
from hermes_core.discovery import Discovery, Found
from hermes_core.dispatch import Dispatch, Fault
from hermes_core.hookspecs import HONOURED
from hermes_core.implementations import check_groups, guess, looks_like_hook
from hermes_core.loaded import HostSettings, Loaded, Problem
from hermes_core.switches import missing, switched_off
from hermes_core.threads import Threads
from hermes_plugins._clock import Clock
from hermes_plugins._config import ConfigSection
from hermes_plugins._doctor import DoctorCheck
from hermes_plugins._errors import HermesError, PluginError
from hermes_plugins._faces import FaceSpec, SlashCommand
from hermes_plugins._host import Host, PromptSection
from hermes_plugins._platforms import PlatformSpec
from hermes_plugins._providers import ProviderProfile
from hermes_plugins._setup import SetupSection
from hermes_plugins._tools import Tool

__all__ = ["HostSettings", "Loaded", "PluginHost", "Problem"]

T = TypeVar("T")

IMPORT_DEADLINE = 5.0
"""Seconds for a plugin's import (DESIGN: deadlines)."""
MAKE_DEADLINE = 1.0
"""Seconds for a constructor or a factory, as for declaring."""
MAX_PROBLEMS = 50
"""Problems that are kept of one plugin; what comes after is only in the log."""

Kinds: TypeAlias = tuple[type, ...]
_DECLARED: Final[Mapping[str, Kinds]] = {
    "hermes_register_config": (ConfigSection,),
    "hermes_register_tools": (Tool,),
    "hermes_register_providers": (ProviderProfile,),
    "hermes_register_platforms": (PlatformSpec, FaceSpec),
    "hermes_register_prompt_sections": (PromptSection,),
    "hermes_register_slash_commands": (SlashCommand,),
    "hermes_register_setup": (SetupSection,),
    "hermes_register_doctor": (DoctorCheck,),
}

_log = logging.getLogger("hermes.host")


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
        self._ready: dict[str, tuple[Loaded, object]] = {}
        self._drivers: dict[tuple[str, str], object] = {}
        self._services: dict[str, object] = {}
        self._loading = asyncio.Lock()
        self._ranks = {
            name.removeprefix("hermes-plugin-"): position
            for position, name in reversed(list(enumerate(settings.enabled)))
        }
        self.found = discovery.find(fresh=fresh)
        self._refused = refused(self.found, is_off=lambda one: bool(self._switched_off(one)))
        self.missing = missing(settings, self.found, discovery.unread)
        for name in self.missing:
            hint = f"`hermes plugins disable {name}` forgets it."
            self.report_problem("", f"{name} is in plugins.enabled but not installed.", hint)
        for unread in discovery.unread:
            self.report_problem(unread.plugin, unread.text, unread.hint)
        for problem in self._refused.values():
            self.report_problem(problem.plugin, problem.text, problem.hint)
        self.dispatch = Dispatch(
            clock=clock, handle=handle, rank=self.rank, report=self.report_problem
        )

    # -- what exists -------------------------------------------------------------------

    def why_off(self, found: Found) -> str:
        """ "" when the plugin may be loaded, else the reason, with the command that changes it."""
        problem = self._refused.get(found)
        return problem.text if problem is not None else self._switched_off(found)

    def _switched_off(self, found: Found) -> str:
        return switched_off(found, self._settings)

    def names(self, group: str) -> tuple[str, ...]:
        """Names that are found and not off in a group, in the rank of their plugins."""
        offered = {
            one.name: (self.rank(one.plugin), one.name)
            for one in self.found
            if one.group == group and not self.why_off(one)
        }
        return tuple(sorted(offered, key=lambda name: offered[name]))

    def rank(self, name: str) -> tuple[int, str]:
        """A plugin's place: configuration order, then name."""
        return self._ranks.get(name, len(self._settings.enabled)), name

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
            wanted = {
                self._name_of(one): one
                for name in dict.fromkeys([*names, *self._overriders(group)])
                for one in self.found
                if one.group == group and one.name == name and not self.why_off(one)
            }
            prepared = {}
            for name, one in wanted.items():
                if name not in self.loaded and (ready := await self._prepare(one, name)):
                    prepared[name] = ready
                    self._ready.pop(name, None)
            if prepared:
                self._settle(prepared)
            return [self.loaded[name] for name in wanted if name in self.loaded]

    async def load_policies(self) -> None:
        """Load what no agent may start without: every enabled policy, and what is required or was
        named on the command line.

        Raises:
            PluginError: one is not loaded; the message names the command that disables it.
        """
        await self.load("hermes.policies", self.names("hermes.policies"))
        for found in self.found:
            if found.group != "hermes.policies" or self._switched_off(found):
                continue
            name = self._name_of(found)
            if found.source == "module" and name not in self.loaded:
                raise PluginError(
                    name,
                    self._reason(name),
                    hint="--plugin takes a module that Python can import; "
                    "`hermes plugins list` shows what is installed.",
                )
            if name not in self.loaded:
                raise PluginError(
                    name,
                    f"this policy is enabled but not loaded: {self._reason(name)}",
                    hint=f"No agent starts without it. Mend it, or run "
                    f"`hermes plugins disable {name}`.",
                )
        for required in self._settings.required:
            await self._load_required(required)

    def check_required(self) -> None:
        """Refuse to go on without what ``plugins.required`` names.

        Raises:
            PluginError: a required plugin is missing or off.
        """
        for name in self._settings.required:
            known = self._meant(name)
            if not known:
                raise PluginError(
                    name,
                    "plugins.required names it, but it is not installed.",
                    hint=f"`hermes plugins install hermes-plugin-{name}`",
                )
            if reason := self.why_off(known[0]):
                raise PluginError(name, f"plugins.required names it, but it is {reason}")

    async def _load_required(self, name: str) -> None:
        for found in self._meant(name):
            if found.group in HONOURED:
                await self.load(found.group, [found.name])
                if self._name_of(found) not in self.loaded:
                    reason = self._reason(self._name_of(found))
                    raise PluginError(
                        name,
                        f"plugins.required names it, but it is not loaded: {reason}",
                        hint="Mend it, or take it out of plugins.required.",
                    )
            elif found.group != "hermes.commands":
                await self.driver(found.group, found.name)

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
            known = self.names(group)
            raise PluginError(
                name,
                f"no installed plugin offers this {kind}{guess(name, known)}; "
                f"there is: {', '.join(known) or 'none'}.",
            )
        usable = [one for one in offered if not self.why_off(one)]
        if not usable:
            raise PluginError(name, f"this {kind} is {self.why_off(offered[0])}")
        async with self._loading:
            with redirect_stdout(sys.stderr):
                target = await self._import(usable[0])
            await self._read_settings_of(usable[0].plugin)
        self._drivers[key] = target
        return target

    async def _read_settings_of(self, plugin: str) -> None:
        """Have what a driver's distribution declares about its settings, though nobody loads it."""
        for found in self.found:
            if found.plugin == plugin and found.group in HONOURED and not self.why_off(found):
                name = self._name_of(found)
                if name not in self.loaded and (ready := await self._prepare(found, name)):
                    self._ready[name] = ready
                return

    def settings_of(self, plugin: str) -> tuple[ConfigSection, ...]:
        """What a plugin that is loaded, or one of whose drivers is, declared about its settings."""
        if plugin in self.loaded:
            return self.loaded[plugin].config
        return self._ready[plugin][0].config if plugin in self._ready else ()

    async def services(self, family: str) -> list[object]:
        """The services of a family, in rank order, each made once with its plugin's handle; one that
        cannot be made is reported."""
        made: list[object] = []
        for name in self.names("hermes.services"):
            if name.partition(".")[0] == family and (one := await self._service(name)) is not None:
                made.append(one)
        return made

    async def _service(self, name: str) -> object | None:
        if name in self._services:
            return self._services[name]
        plugin = next(
            one.plugin
            for one in self.found
            if one.group == "hermes.services" and one.name == name and not self.why_off(one)
        )
        if f"service {name}" in self._failed:
            return None
        try:
            factory = cast("Callable[[Host], object]", await self.driver("hermes.services", name))
            handle = self._handle(plugin)
            async with self._loading:
                what = f"making its service {name}"
                self._services[name] = await self._bounded(
                    plugin, what, MAKE_DEADLINE, lambda: factory(handle)
                )
        except HermesError as error:
            self._failed.add(f"service {name}")
            self.report_problem(plugin, _told(plugin, error), error.hint)
        return self._services.get(name)

    def close(self) -> None:
        """Let the host's threads end."""
        self.dispatch.close()
        self._threads.close()

    # -- one load, step by step --------------------------------------------------------

    async def _prepare(self, found: Found, name: str) -> tuple[Loaded, object] | None:
        """Everything of a load that may fail; nothing of the host has changed when it does."""
        if name in self._failed:
            return None
        if name in self._ready:
            return self._ready[name]
        try:
            with redirect_stdout(sys.stderr):  # stdout belongs to the answer
                return await self._read(found, name)
        except (Exception, SystemExit) as error:
            self._drop(found, name, error)
            return None

    async def _read(self, found: Found, name: str) -> tuple[Loaded, object]:
        started = self._clock.monotonic()
        plugin = await self._import(found)
        if inspect.isroutine(plugin):
            raise PluginError(
                name,
                f"the entry point {found.name} in {found.group} names a function ({found.value}).",
                hint=f"Name the module ({found.module}) or a class; its functions marked with "
                "@hookimpl are found, nothing has to register them.",
            )
        if inspect.isclass(plugin):
            plugin = await self._bounded(name, "its constructor", MAKE_DEADLINE, plugin)
        groups = self._groups_of(found)
        functions = self.dispatch.check(name, plugin)
        check_groups(name, functions, groups, is_policy=self._is_policy(found))
        for unmarked in dir(plugin):
            if looks_like_hook(unmarked) and unmarked not in functions:
                text = f"{unmarked} is not marked with @hookimpl and is never called"
                self.report_problem(name, text)
        declared = {
            hook: await self._declared(name, hook, functions.get(hook), kinds)
            for hook, kinds in _DECLARED.items()
        }
        loaded = Loaded(
            name=name,
            value=found.value,
            groups=groups,
            distribution=found.distribution,
            version=found.version,
            source=found.source,
            tools=cast("tuple[Tool, ...]", declared["hermes_register_tools"]),
            providers=cast("tuple[ProviderProfile, ...]", declared["hermes_register_providers"]),
            platforms=cast(
                "tuple[PlatformSpec | FaceSpec, ...]", declared["hermes_register_platforms"]
            ),
            prompt_sections=cast(
                "tuple[PromptSection, ...]", declared["hermes_register_prompt_sections"]
            ),
            slash_commands=cast(
                "tuple[SlashCommand, ...]", declared["hermes_register_slash_commands"]
            ),
            config=cast("tuple[ConfigSection, ...]", declared["hermes_register_config"]),
            setup=cast("tuple[SetupSection, ...]", declared["hermes_register_setup"]),
            doctor=cast("tuple[DoctorCheck, ...]", declared["hermes_register_doctor"]),
            hooks=tuple(functions),
            seconds=self._clock.monotonic() - started,
        )
        problem = declaration_problem(
            loaded,
            toolsets=self._entry_names(found, "hermes.tools", "hermes.memory"),
            providers=self._entry_names(found, "hermes.providers"),
            platforms=self._entry_names(found, "hermes.platforms"),
        )
        if problem:
            raise PluginError(name, problem)
        return loaded, plugin

    async def _import(self, found: Found) -> object:
        if found.requires_host:
            from hermes_core.versions import outside

            if problem := outside(found.requires_host):
                hint = f"Install another version, or `hermes plugins disable {found.plugin}`."
                raise PluginError(found.plugin, problem, hint=hint)
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
        except TimeoutError as error:
            if isinstance(error.__cause__, asyncio.CancelledError) or not error.args:
                raise PluginError(plugin, f"{what} took longer than {seconds:g} s.") from None
            raise PluginError(plugin, f"{what} failed (TimeoutError: {error}).") from error
        except HermesError:
            raise
        except (Exception, SystemExit) as error:
            text = f"{type(error).__name__}: {error}".partition("\n")[0].rstrip(": ")
            raise PluginError(plugin, f"{what} failed ({text}).") from error

    async def _declared(
        self, name: str, hook: str, function: Callable[..., object] | None, kinds: Kinds
    ) -> tuple[object, ...]:
        values = tuple(await self.dispatch.collect(name, hook, function)) if function else ()
        for value in values:
            if not isinstance(value, kinds):
                wanted = " or a ".join(kind.__name__ for kind in kinds)
                raise PluginError(
                    name, f"{hook} gave a {type(value).__name__} where a {wanted} belongs."
                )
        return values

    def _settle(self, prepared: Mapping[str, tuple[Loaded, object]]) -> None:
        """Register what may have the names that it offers.

        A plugin that was loaded before and loses a name keeps its hooks, because a policy must not
        vanish from running sessions; its tools and providers are gone for new ones.
        """
        everyone = {**self.loaded, **{name: loaded for name, (loaded, _) in prepared.items()}}
        builtin = {
            name
            for name, loaded in everyone.items()
            if any(one.builtin for one in self.found if one.value == loaded.value)
        }
        lost = losers(list(everyone.values()), builtin=builtin, overrides=self._settings.overrides)
        for name, problem in lost.items():
            self.report_problem(name, problem.text, problem.hint)
            if name in self.loaded:
                self.loaded[name] = msgspec.structs.replace(
                    self.loaded[name], tools=(), providers=(), platforms=(), slash_commands=()
                )
            else:
                self._failed.add(name)
        for name, (loaded, plugin) in prepared.items():
            if name not in lost and self._registered(name, plugin):
                self.loaded[name] = loaded
        self.loaded = with_overrides(self.loaded, self._settings.overrides)

    def _registered(self, name: str, plugin: object) -> bool:
        try:
            self.dispatch.add(name, plugin)
        except (ValueError, pluggy.PluginValidationError) as error:
            self._failed.add(name)
            self.report_problem(name, f"it cannot be registered ({error})".partition("\n")[0])
            return False
        return True

    def _drop(self, found: Found, name: str, error: BaseException) -> None:
        self._failed.add(name)
        _log.warning("plugin %s is not loaded", name, exc_info=error)
        usual = (
            ""
            if found.source == "module"
            else f"`hermes plugins disable {name}` goes on without it."
        )
        if isinstance(error, HermesError):
            self.report_problem(name, _told(name, error), error.hint or usual)
        elif isinstance(error, Fault):
            self.report_problem(name, error.text, usual)
        else:
            text = f"{type(error).__name__}: {error}".partition("\n")[0]
            self.report_problem(name, f"it cannot be loaded ({text})", usual)

    # -- identity ----------------------------------------------------------------------

    def _name_of(self, found: Found) -> str:
        """One identity however found: the target decides, the first entry point that is on names it."""
        same = (one for one in self.found if one.value == found.value and not self.why_off(one))
        return next((one.plugin for one in same), found.plugin)

    def _groups_of(self, found: Found) -> tuple[str, ...]:
        groups = {
            one.group for one in self.found if one.value == found.value and not self.why_off(one)
        }
        return tuple(group for group in HONOURED if group in groups)

    def _is_policy(self, found: Found) -> bool:
        """True when an entry point of it, and not only ``--plugin``, says so."""
        return any(
            one.group == "hermes.policies" and one.source != "module"
            for one in self.found
            if one.value == found.value
        )

    def _entry_names(self, found: Found, *groups: str) -> tuple[str, ...]:
        same = (one for one in self.found if one.value == found.value and one.group in groups)
        return tuple(sorted({one.name for one in same}))

    def _overriders(self, group: str) -> Sequence[str]:
        """Tool sets of the plugins that replace somebody's tool."""
        names = self._settings.overrides
        if group != "hermes.tools" or not names:
            return ()
        return [one.name for one in self.found if one.group == group and one.plugin in names]

    def _meant(self, name: str) -> list[Found]:
        return [one for one in self.found if name in (one.plugin, one.distribution, one.name)]

    def _reason(self, name: str) -> str:
        return next((one.text for one in self.problems if one.plugin == name), "it was not found.")


def _told(plugin: str, error: HermesError) -> str:
    """The error's line without the plugin's name, which stands in front of it anyway."""
    return error.message.removeprefix(f"plugin {plugin}: ")
