"""Calling hooks: collect, emit, gate, transform. The only file that calls one.

pluggy keeps and validates the implementations; the walk is done here, because a call needs things
pluggy has no notion of: the host's rank, only the arguments an implementation names, its own handle
as ``host``, awaiting what is awaitable, a deadline, and who answered.

An ``async`` implementation runs as part of the caller (about 4 microseconds); a plain one in its
plugin's own thread, one call after the other (about 90). On a missed deadline the call is abandoned,
the plugin is off for this process, and a late result is dropped.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

import pluggy

from hermes_core import hookspecs
from hermes_core.threads import Threads
from hermes_plugins._clock import Clock
from hermes_plugins._decisions import Allow, Ask, Decision, Deny
from hermes_plugins._errors import PluginError
from hermes_plugins._markers import PROJECT

if TYPE_CHECKING:
    from hermes_plugins._host import Host

V = TypeVar("V")

DEADLINES = {"register": 1.0, "on": 5.0, "transform": 5.0, "before": 10.0}
"""Seconds per call, by family (DESIGN: deadlines)."""
WATCH_QUEUE = 1000
"""Pending ``on_*`` calls a plugin may have; more are dropped and counted."""
MAX_FAILURES = 5
"""Failures in a row after which an ``on_*`` hook is switched off."""

_log = logging.getLogger("hermes.dispatch")


class Implementation:
    """One plugin's function for one hook."""

    __slots__ = ("arguments", "failures", "function", "is_async", "off", "plugin")

    def __init__(self, plugin: str, function: Callable[..., object], arguments: tuple[str, ...]):
        self.plugin = plugin
        self.function = function
        self.arguments = arguments
        self.is_async = inspect.iscoroutinefunction(function)
        self.failures = 0
        self.off = False


class Fault(Exception):
    """Raised when an implementation raised or missed its deadline; ``cause`` says what happened."""

    def __init__(self, plugin: str, hook: str, cause: BaseException | str) -> None:
        what = cause if isinstance(cause, str) else f"{type(cause).__name__}: {cause}"
        super().__init__(f"plugin {plugin}: {hook}: {what}")
        self.plugin = plugin
        self.cause = cause


class _Watcher:
    """The queue of one plugin's ``on_*`` calls, worked off in order by one task."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[tuple[str, Implementation, Mapping[str, object]]] = asyncio.Queue(
            WATCH_QUEUE
        )
        self.task: asyncio.Task[None] | None = None
        self.dropped = 0


class Dispatch:
    """The hooks of one host."""

    def __init__(
        self,
        *,
        clock: Clock,
        handle: Callable[[str], Host],
        rank: Callable[[str], tuple[int, str]],
        report: Callable[[str, str], None],
    ) -> None:
        self._clock = clock
        self._handle = handle
        self._rank = rank
        self._report = report
        self._plugins = pluggy.PluginManager(PROJECT)
        self._plugins.add_hookspecs(hookspecs)
        self._cache: dict[str, tuple[Implementation, ...]] = {}
        self._implementations: dict[tuple[str, str], Implementation] = {}
        self._workers: dict[str, Threads] = {}
        self._watchers: dict[str, _Watcher] = {}
        self.seconds: dict[tuple[str, str], tuple[int, float]] = {}
        """Calls and seconds by plugin and hook, for ``hermes plugins profile``."""

    # -- registration ------------------------------------------------------------------

    def add(self, name: str, plugin: object) -> None:
        """Register a plugin object.

        Raises:
            pluggy.PluginValidationError: a hook is unknown or names an argument it does not have.
        """
        self._plugins.register(plugin, name=name)
        self._cache.clear()
        try:
            self._plugins.check_pending()
        except pluggy.PluginValidationError:
            self.remove(name)
            raise

    def remove(self, name: str) -> None:
        """Forget a plugin; its running calls are abandoned."""
        if self._plugins.has_plugin(name):
            self._plugins.unregister(name=name)
        self._cache.clear()
        for key in [key for key in self._implementations if key[0] == name]:
            del self._implementations[key]

    def marked_hooks(self, plugin: object) -> dict[str, pluggy.HookimplOpts]:
        """The functions of ``plugin`` that carry our marker, with their options."""
        found: dict[str, pluggy.HookimplOpts] = {}
        for name in dir(plugin):
            options = self._plugins.parse_hookimpl_opts(plugin, name)
            if options is not None:
                found[name] = options
        return found

    def has(self, hook: str) -> bool:
        """True when a call of ``hook`` would reach somebody."""
        return bool(self._of(hook))

    # -- the four ways to call ---------------------------------------------------------

    async def collect(self, plugin: str, hook: str) -> list[object]:
        """What one plugin declares.

        Raises:
            Fault: it raised, returned no iterable, or took longer than a second.
        """
        for implementation in self._of(hook):
            if implementation.plugin == plugin:
                answer = await self._call(hook, implementation, {})
                if answer is None:
                    return []
                try:
                    return list(cast("Sequence[object]", answer))
                except TypeError as error:
                    raise Fault(plugin, hook, error) from error
        return []

    def emit(self, hook: str, /, **arguments: object) -> None:
        """Tell the watchers. Never waits and never raises."""
        for implementation in self._of(hook):
            watcher = self._watchers.setdefault(implementation.plugin, _Watcher())
            if watcher.queue.full():
                watcher.dropped += 1
                if watcher.dropped == 1:
                    self._report(implementation.plugin, f"{hook}: too slow, calls are dropped")
                continue
            watcher.queue.put_nowait((hook, implementation, arguments))
            if watcher.task is None or watcher.task.done():
                watcher.task = asyncio.get_running_loop().create_task(self._watch(watcher))

    async def gate(self, hook: str, /, **arguments: object) -> list[tuple[str, Decision]]:
        """Ask every judge, side by side. Who raises, hangs or answers nonsense says Deny."""
        judges = self._all_of(hook)  # one that is off still counts: it says Deny
        if not judges:
            return []
        answers = await asyncio.gather(*(self._judge(hook, one, arguments) for one in judges))
        return [(one.plugin, answer) for one, answer in zip(judges, answers, strict=True)]

    async def transform(self, hook: str, value: V, /, *, key: str, **arguments: object) -> V:
        """Pass ``value`` through the plugins in rank order; ``key`` is its argument's name.

        A plugin that raises, hangs or returns another type is reported and skipped.
        """
        for implementation in self._of(hook):
            try:
                answer = await self._call(hook, implementation, {**arguments, key: value})
                if not isinstance(answer, type(value)) and not (
                    isinstance(answer, list | tuple) and isinstance(value, list | tuple)
                ):
                    raise Fault(
                        implementation.plugin,
                        hook,
                        f"returned {type(answer).__name__}, not {type(value).__name__}",
                    )
                value = cast("V", answer)
            except Fault as fault:
                self._note(implementation, str(fault))
        return value

    async def drain(self, seconds: float) -> None:
        """Let the watchers finish what is queued, for at most ``seconds``."""
        tasks = [one.task for one in self._watchers.values() if one.task and not one.task.done()]
        if not tasks:
            return
        try:
            async with self._clock.timeout(seconds):
                await asyncio.gather(*tasks, return_exceptions=True)
        except TimeoutError:
            self._report("", f"watchers still busy after {seconds:g} s were left behind")
        for task in tasks:
            task.cancel()

    def close(self) -> None:
        """Let the plugins' threads end."""
        for worker in self._workers.values():
            worker.close()

    # -- inside ------------------------------------------------------------------------

    def _of(self, hook: str) -> tuple[Implementation, ...]:
        found = self._all_of(hook)
        return tuple(one for one in found if not one.off) if any(o.off for o in found) else found

    def _all_of(self, hook: str) -> tuple[Implementation, ...]:
        cached = self._cache.get(hook)
        if cached is None:
            caller: pluggy.HookCaller = getattr(self._plugins.hook, hook)
            found = [
                self._implementation(impl.plugin_name, hook, impl)
                for impl in caller.get_hookimpls()
            ]
            found.sort(key=lambda one: self._rank(one.plugin))
            cached = self._cache[hook] = tuple(found)
        return cached

    def _implementation(self, plugin: str, hook: str, impl: pluggy.HookImpl) -> Implementation:
        key = (plugin, hook)
        if key not in self._implementations:
            names = (*impl.argnames, *impl.kwargnames)
            self._implementations[key] = Implementation(plugin, impl.function, names)
        return self._implementations[key]

    async def _call(
        self, hook: str, implementation: Implementation, arguments: Mapping[str, object]
    ) -> object:
        """One call under its deadline.

        Raises:
            Fault: it raised or missed the deadline.
        """
        plugin = implementation.plugin
        given = {
            name: self._handle(plugin) if name == "host" else arguments[name]
            for name in implementation.arguments
        }
        family = hook.split("_", 2)[1]
        started = self._clock.monotonic()
        try:
            async with self._clock.timeout(DEADLINES[family]):
                if implementation.is_async:
                    function = cast(
                        "Callable[..., Coroutine[object, object, object]]", implementation.function
                    )
                    return await function(**given)
                return await self._worker(plugin).run(lambda: implementation.function(**given))
        except asyncio.CancelledError:
            raise
        except TimeoutError as error:
            self._switch_off(plugin)
            raise Fault(plugin, hook, f"took longer than {DEADLINES[family]:g} s; off") from error
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            raise Fault(plugin, hook, error) from error
        finally:
            calls, seconds = self.seconds.get((plugin, hook), (0, 0.0))
            spent = self._clock.monotonic() - started
            self.seconds[plugin, hook] = (calls + 1, seconds + spent)

    async def _judge(
        self, hook: str, judge: Implementation, arguments: Mapping[str, object]
    ) -> Decision:
        if judge.off:
            return Deny(f"the policy {judge.plugin} is off because it took too long")
        try:
            answer = await self._call(hook, judge, arguments)
        except Fault as fault:
            self._report(judge.plugin, str(fault))
            return Deny(f"the policy {judge.plugin} could not judge this call")
        if answer is None:
            return Allow()
        if isinstance(answer, Allow | Ask | Deny):
            return answer
        self._report(judge.plugin, f"{hook} returned {type(answer).__name__}, not a decision")
        return Deny(f"the policy {judge.plugin} gave no usable answer")

    async def _watch(self, watcher: _Watcher) -> None:
        while not watcher.queue.empty():
            hook, implementation, arguments = watcher.queue.get_nowait()
            if implementation.off:
                continue
            try:
                await self._call(hook, implementation, arguments)
                implementation.failures = 0
            except Fault as fault:
                self._note(implementation, str(fault))
                implementation.failures += 1
                if implementation.failures >= MAX_FAILURES:
                    implementation.off = True
                    self._report(implementation.plugin, f"{hook} keeps failing and is off now")

    def _note(self, implementation: Implementation, text: str) -> None:
        _log.warning("%s", text)
        self._report(implementation.plugin, text)

    def _worker(self, plugin: str) -> Threads:
        if plugin not in self._workers:
            self._workers[plugin] = Threads(f"hermes-plugin-{plugin}", limit=1)
        return self._workers[plugin]

    def _switch_off(self, plugin: str) -> None:
        for (name, _), implementation in self._implementations.items():
            if name == plugin:
                implementation.off = True


def check_marks(plugin: str, hooks: Mapping[str, pluggy.HookimplOpts]) -> None:
    """Refuse what would make order depend on import order.

    Raises:
        PluginError: a wrapper, tryfirst, trylast or a hook renamed by ``specname``.
    """
    for name, options in hooks.items():
        for mark in ("wrapper", "hookwrapper", "tryfirst", "trylast", "specname"):
            if options.get(mark):
                raise PluginError(
                    plugin,
                    f"{name} uses {mark}, which this host does not honour.",
                    hint="Use a plain @hookimpl; order is configuration order, then name.",
                )
