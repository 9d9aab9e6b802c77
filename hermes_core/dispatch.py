"""Calling hooks: collect, emit, gate, transform. The only file that calls one.

pluggy keeps and validates the implementations; the walk is done here, because a call needs things
pluggy has no notion of: the host's rank, only the arguments an implementation names, its own handle
as ``host``, awaiting what is awaitable, a deadline, and who answered.

An ``async`` implementation runs as part of the caller (about 4 microseconds when it does not wait); a
plain one in its plugin's own thread, one call after the other (about 90). On a missed deadline the
call is abandoned, the plugin's hooks are off for this process, and a late result is dropped. Each
implementation gets its own copy of what could be changed in place.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar, cast

import pluggy

from hermes_core import hookspecs
from hermes_core.deadline import Deadline
from hermes_core.implementations import (
    Implementation,
    answer_problem,
    check_function,
    check_marks,
    check_name,
    named_arguments,
    own_copy,
)
from hermes_core.threads import Threads
from hermes_plugins._clock import Clock
from hermes_plugins._decisions import Allow, Ask, Decision, Deny
from hermes_plugins._errors import HermesError
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


class Fault(Exception):
    """Raised when an implementation raised or missed its deadline.

    ``text`` is one line without the plugin's name; ``error`` is what was raised, or this itself.
    """

    def __init__(self, plugin: str, hook: str, cause: BaseException | str) -> None:
        what = cause if isinstance(cause, str) else f"raised {_described(cause)}"
        self.plugin = plugin
        self.text = f"{hook} {what}"
        self.error: BaseException = self if isinstance(cause, str) else cause
        super().__init__(f"plugin {plugin}: {self.text}")


class _Watcher:
    """The queue of one plugin's ``on_*`` calls, worked off in order by one task."""

    def __init__(self) -> None:
        self.queue: deque[tuple[Implementation, Mapping[str, object]]] = deque()
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
        report: Callable[[str, str, str], None],
    ) -> None:
        self._clock = clock
        self._deadline = Deadline(clock)
        self._handle = handle
        self._rank = rank
        self._report = report
        self._plugins = pluggy.PluginManager(PROJECT)
        self._plugins.add_hookspecs(hookspecs)
        self._cache: dict[str, tuple[Implementation, ...]] = {}
        self._implementations: dict[tuple[str, str], Implementation] = {}
        self._off: set[str] = set()
        self._workers: dict[str, Threads] = {}
        self._watchers: dict[str, _Watcher] = {}
        self.seconds: dict[tuple[str, str], tuple[int, float]] = {}
        """Calls and seconds by plugin and hook, for ``hermes plugins profile``."""

    # -- registration ------------------------------------------------------------------

    def check(self, name: str, plugin: object) -> Mapping[str, Callable[..., object]]:
        """The hook functions of a plugin object, by hook.

        Raises:
            PluginError: one cannot be honoured; says which and why.
        """
        marked = self._marked(plugin)
        check_marks(name, marked)
        functions: dict[str, Callable[..., object]] = {}
        for hook in marked:
            check_name(name, hook, (spec for spec in vars(self._plugins.hook) if spec[0] != "_"))
            functions[hook] = getattr(plugin, hook)
            check_function(name, hook, functions[hook], offered=self._offered(hook))
        return functions

    def add(self, name: str, plugin: object) -> None:
        """Register a plugin object that has passed `check`.

        Raises:
            ValueError: it, or another of that name, is registered already.
            pluggy.PluginValidationError: a hook is not what its specification says.
        """
        self._plugins.register(plugin, name=name)
        self._cache.clear()

    def remove(self, name: str) -> None:
        """Forget a plugin; its running calls are abandoned."""
        if self._plugins.has_plugin(name):
            self._plugins.unregister(name=name)
        self._cache.clear()
        for key in [key for key in self._implementations if key[0] == name]:
            self._implementations.pop(key).off = True

    def _marked(self, plugin: object) -> dict[str, pluggy.HookimplOpts]:
        found: dict[str, pluggy.HookimplOpts] = {}
        for name in dir(plugin):
            options = self._plugins.parse_hookimpl_opts(plugin, name)
            if options is not None:
                found[name] = options
        return found

    def _offered(self, hook: str) -> tuple[str, ...]:
        """The arguments that a hook gives."""
        caller: pluggy.HookCaller = getattr(self._plugins.hook, hook)
        return tuple(caller.spec.argnames) if caller.spec is not None else ()

    def has(self, hook: str) -> bool:
        """True when a call of ``hook`` would reach somebody."""
        return bool(self._of(hook))

    # -- the four ways to call ---------------------------------------------------------

    async def collect(
        self, plugin: str, hook: str, function: Callable[..., object]
    ) -> list[object]:
        """What one plugin declares with ``function``, which need not be registered yet.

        Raises:
            Fault: it raised, returned no iterable, or took longer than a second.
        """

        def listed() -> list[object]:
            values = function()
            return [] if values is None else list(cast("list[object]", values))

        answer = await self._call(Implementation(plugin, hook, listed), {})
        return cast("list[object]", answer)

    async def command(self, plugin: str, name: str, function: Callable[[], Awaitable[str]]) -> str:
        """What a plugin's slash command says; it may take its time.

        Raises:
            HermesError: it raised one, which is meant for the person.
            Fault: it raised anything else, or returned no text.
        """
        answer, error = await self._guarded(Implementation(plugin, f"/{name}", function), {})
        if isinstance(error, HermesError):
            raise error
        if error is not None:
            raise Fault(plugin, f"/{name}", error) from error
        if not isinstance(answer, str):
            raise Fault(plugin, f"/{name}", f"gave a {type(answer).__name__} where a str belongs")
        return answer

    async def made(self, plugin: str, name: str, make: Callable[[], object]) -> object:
        """What a driver's constructor gives; it runs here, in the loop's own thread.

        Raises:
            HermesError: it raised one, which is meant for the person.
            Fault: it raised anything else.
        """

        async def here() -> object:
            return make()

        answer, error = await self._guarded(Implementation(plugin, name, here), {})
        if isinstance(error, HermesError):
            raise error
        if error is not None:
            raise Fault(plugin, name, error) from error
        return answer

    async def examine(
        self, plugin: str, name: str, function: Callable[[], Awaitable[object]], *, seconds: float
    ) -> object:
        """What a plugin's check for ``hermes doctor`` finds.

        Raises:
            Fault: it raised, or took longer than ``seconds``.
        """
        work = self._guarded(Implementation(plugin, name, function), {})
        try:
            answer, error = await self._deadline.run(work, seconds)
        except TimeoutError:
            raise Fault(plugin, name, f"took longer than {seconds:g} s") from None
        if error is not None:
            raise Fault(plugin, name, error) from error
        return answer

    def emit(self, hook: str, /, **arguments: object) -> None:
        """Tell the watchers. Never waits and never raises."""
        for implementation in self._of(hook):
            watcher = self._watchers.setdefault(implementation.plugin, _Watcher())
            if len(watcher.queue) >= WATCH_QUEUE:
                watcher.dropped += 1
                if watcher.dropped == 1:
                    text = f"{hook} is too slow, so calls of it are left out"
                    self._report(implementation.plugin, text, "")
                continue
            watcher.queue.append((implementation, self._given(implementation, arguments)))
            if watcher.task is None or watcher.task.done():
                watcher.task = asyncio.get_running_loop().create_task(self._watch(watcher))

    async def gate(self, hook: str, /, **arguments: object) -> list[tuple[str, Decision]]:
        """Ask every judge, side by side. Who raises, hangs or answers nonsense says Deny."""
        judges = self._all_of(hook)  # one that is off still counts: it says Deny
        if not judges:
            return []
        asked = [self._judge(one, self._given(one, arguments)) for one in judges]
        answers = [await asked[0]] if len(asked) == 1 else await asyncio.gather(*asked)
        return [(one.plugin, answer) for one, answer in zip(judges, answers, strict=True)]

    async def transform(self, hook: str, value: V, /, *, key: str, **arguments: object) -> V:
        """Pass ``value`` through the plugins in rank order; ``key`` is its argument's name.

        A plugin that raises, hangs or returns another type is reported and skipped.
        """
        for one in self._of(hook):
            try:
                answer = await self._call(one, self._given(one, {**arguments, key: value}))
                if problem := answer_problem(answer, value):
                    raise Fault(one.plugin, hook, problem)
                value = cast("V", answer)
            except Fault as fault:
                self._note(one, fault)
        return value

    async def drain(self, seconds: float) -> None:
        """Let the watchers finish what is queued, for at most ``seconds``."""
        try:
            async with self._clock.timeout(seconds):
                while tasks := self._busy():
                    await asyncio.wait(tasks)
        except TimeoutError:
            self._report("", f"watchers still busy after {seconds:g} s were left behind", "")
        for task in self._busy():
            task.cancel()

    def close(self) -> None:
        """Let the plugins' threads end."""
        for worker in self._workers.values():
            worker.close()

    # -- inside ------------------------------------------------------------------------

    def _of(self, hook: str) -> tuple[Implementation, ...]:
        found = self._all_of(hook)
        if found and any(one.off for one in found):
            return tuple(one for one in found if not one.off)
        return found

    def _all_of(self, hook: str) -> tuple[Implementation, ...]:
        cached = self._cache.get(hook)
        if cached is None:
            caller: pluggy.HookCaller = getattr(self._plugins.hook, hook)
            found = [self._implementation(hook, impl) for impl in caller.get_hookimpls()]
            found.sort(key=lambda one: self._rank(one.plugin))
            cached = self._cache[hook] = tuple(found)
        return cached

    def _implementation(self, hook: str, impl: pluggy.HookImpl) -> Implementation:
        key = (impl.plugin_name, hook)
        if key not in self._implementations:
            names = named_arguments(impl.function, self._offered(hook))
            one = Implementation(impl.plugin_name, hook, impl.function, arguments=names)
            one.off = one.plugin in self._off
            self._implementations[key] = one
        return self._implementations[key]

    def _given(
        self, implementation: Implementation, arguments: Mapping[str, object]
    ) -> Mapping[str, object]:
        return {
            name: self._handle(implementation.plugin)
            if name == "host"
            else own_copy(arguments[name])
            for name in implementation.arguments
        }

    async def _call(self, implementation: Implementation, given: Mapping[str, object]) -> object:
        """One call under its deadline.

        Raises:
            Fault: it raised or missed the deadline.
        """
        plugin, hook = implementation.plugin, implementation.hook
        limit = DEADLINES[hook.split("_", 2)[1]]
        started = self._clock.monotonic()
        try:
            answer, error = await self._deadline.run(self._guarded(implementation, given), limit)
        except TimeoutError:
            self._switch_off(plugin)
            raise Fault(
                plugin,
                hook,
                f"took longer than {limit:g} s, so its hooks are off until the next start",
            ) from None
        finally:
            calls, seconds = self.seconds.get((plugin, hook), (0, 0.0))
            spent = self._clock.monotonic() - started
            self.seconds[plugin, hook] = (calls + 1, seconds + spent)
        if error is not None:
            raise Fault(plugin, hook, error) from error
        return answer

    async def _guarded(
        self, implementation: Implementation, given: Mapping[str, object]
    ) -> tuple[object, BaseException | None]:
        """Call the function; whatever it raises is a value, also what would end the loop."""
        function = implementation.function
        try:
            if implementation.is_async:
                answer = function(**given)
            else:
                answer = await self._worker(implementation.plugin).run(lambda: function(**given))
            return (await answer if inspect.isawaitable(answer) else answer), None
        except KeyboardInterrupt:
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # from outside, or the deadline; else the function's own doing
            return None, error
        except BaseException as error:
            return None, error

    async def _judge(self, judge: Implementation, given: Mapping[str, object]) -> Decision:
        name = judge.plugin
        if judge.off:
            return Deny(f"the policy {name} is off because it took too long")
        try:
            answer = await self._call(judge, given)
        except Fault as fault:
            self._note(judge, fault)
            return Deny(f"the policy {name} could not judge this call")
        if answer is None:
            return Allow()
        if isinstance(answer, Allow | Ask | Deny):
            return answer
        said = f"returned {type(answer).__name__}; return Allow(), Ask(…), Deny(…) or nothing"
        self._note(judge, Fault(name, judge.hook, said))
        return Deny(f"the policy {name} gave no usable answer")

    async def _watch(self, watcher: _Watcher) -> None:
        while watcher.queue:
            implementation, given = watcher.queue.popleft()
            if implementation.off:
                continue
            try:
                await self._call(implementation, given)
                implementation.failures = 0
            except Fault as fault:
                self._note(implementation, fault)
                implementation.failures += 1
                if implementation.failures >= MAX_FAILURES:
                    implementation.off = True
                    text = f"{implementation.hook} keeps failing and is off until the next start"
                    self._report(implementation.plugin, text, "")

    def _note(self, implementation: Implementation, fault: Fault) -> None:
        """Keep a fault, and tell who watches for errors; a fault in telling is not told again."""
        _log.warning("%s", fault, exc_info=None if fault.error is fault else fault.error)
        hint = ""
        if implementation.hook.startswith("hermes_before_"):
            hint = f"It denies then; `hermes plugins disable {fault.plugin}` goes on without it."
        self._report(implementation.plugin, fault.text, hint)
        if implementation.hook != "hermes_on_error":
            where = f"plugin {fault.plugin}: {implementation.hook}"
            self.emit("hermes_on_error", where=where, error=fault.error)

    def _busy(self) -> list[asyncio.Task[None]]:
        return [one.task for one in self._watchers.values() if one.task and not one.task.done()]

    def _worker(self, plugin: str) -> Threads:
        if plugin not in self._workers:
            self._workers[plugin] = Threads(f"hermes-plugin-{plugin}", limit=1)
        return self._workers[plugin]

    def _switch_off(self, plugin: str) -> None:
        self._off.add(plugin)
        for (name, _), implementation in self._implementations.items():
            if name == plugin:
                implementation.off = True


def _described(error: BaseException) -> str:
    """``ValueError: text``, in one line."""
    lines = str(error).split("\n")
    text = lines[0].strip() + (" …" if len(lines) > 1 else "")
    return f"{type(error).__name__}: {text}".rstrip(": ")
