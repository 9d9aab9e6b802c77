"""The gateway: every enabled platform and face of a home, in one process, until it is told to stop.

One gateway works on a home (the lock is the caller's). ``gateway.json`` in the home tells others how
it is, and the next one whether this one ended by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from hermes_core.gateway.delivery import Courier, note_draft
from hermes_core.gateway.inbox import GatewayInbox
from hermes_core.gateway.sessions import OpenSessions
from hermes_core.gateway.supervisor import Supervisor, attempted, failure_of, one_line
from hermes_core.gateway.workers import Workers
from hermes_core.paths import write_whole
from hermes_plugins._errors import HermesError, PluginError, UsageError
from hermes_plugins._faces import Drained, FaceHost, FaceSpec, GatewayFace
from hermes_plugins._platforms import Platform, PlatformSpec, Watched

if TYPE_CHECKING:
    from hermes_core.runtime import Runtime

STATE_FILE: Final = "gateway.json"
UPKEEP: Final = 5.0
"""Seconds between two looks at how platforms are."""
ROUNDS: Final = 12
"""Of these looks, every so many one closes sessions, and every 720 times that many one prunes."""
RECENT: Final = 3600.0
"""Seconds before a crash in which a conversation counts as one where something may be lost."""
FLUSH: Final = 5.0
"""Seconds that answers get to go out when the gateway is stopped."""
STOP_SECONDS: Final = 5.0
"""Seconds that platforms get to say goodbye."""

_CRASHED = (
    "I was cut off and am back. What you wrote in the meantime and I do not answer now did not"
    " reach me."
)

_log = logging.getLogger("hermes.gateway")


class PlatformState(msgspec.Struct, frozen=True, kw_only=True):
    """A platform or face as `hermes gateway status` shows it. ``trouble`` is what is wrong now."""

    state: str
    since: float = 0.0
    trouble: str = ""
    last_error: str = ""
    falls: int = 0
    unanswered: int = 0
    unsent: int = 0


class GatewayState(msgspec.Struct, frozen=True, kw_only=True):
    """What `gateway.json` holds. ``clean`` is True once it ended by itself."""

    v: int = 1
    pid: int
    started: float
    updated: float
    clean: bool = False
    sessions: int = 0
    platforms: Mapping[str, PlatformState] = {}


class Gateway:
    """Runs the platforms of a runtime, and its faces.

    ``face_host`` makes what the face of a plugin gets. ``tell`` gets a line whenever one of them falls
    for another reason than before.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        pid: int,
        face_host: Callable[[str], FaceHost],
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        settings = runtime.config.settings
        self._runtime = runtime
        self._settings = settings.gateway
        self._pid = pid
        self._clock = runtime.clock
        self._started = runtime.clock.now()
        self._file = runtime.paths.home / STATE_FILE
        self._mailbox = runtime.store.mailbox()
        self._face_host = face_host
        self._platforms: dict[str, Platform] = {}
        self._faces: dict[str, GatewayFace] = {}
        self._specs: dict[str, PlatformSpec] = {}
        self._face_specs: dict[str, FaceSpec] = {}
        self._failed: dict[str, HermesError] = {}
        self._counts: Mapping[str, tuple[int, int]] = {}
        self._written: GatewayState | None = None
        self._refusals = 0
        self._names = [name for name, one in settings.platforms.items() if one.enabled]
        self._couriers = {
            name: Courier(
                name,
                mailbox=self._mailbox,
                clock=runtime.clock,
                per_second=settings.platforms[name].per_second,
            )
            for name in self._names
        }
        self.sessions = OpenSessions(runtime, limit=self._settings.max_sessions)
        self.workers = Workers(
            runtime,
            sessions=self.sessions,
            mailbox=self._mailbox,
            courier=self._couriers.get,
            at_once=self._settings.max_turns_at_once,
        )
        self._supervisor = Supervisor(runtime.clock, self._write, tell=tell)
        self._senders = Supervisor(runtime.clock)

    @property
    def names(self) -> list[str]:
        """What is loaded: chat platforms, then faces."""
        return [*self._specs, *self._face_specs]

    @property
    def platforms(self) -> list[str]:
        """The chat platforms that are loaded."""
        return list(self._specs)

    async def load(self) -> None:
        """Load the plugins of every enabled platform; those that fail are problems of the host.

        Raises:
            UsageError: no platform is enabled, or none can be loaded.
        """
        if not self._names:
            raise UsageError(
                "no chat platform is enabled.",
                hint="For example: `hermes config set platforms.irc.enabled true`",
            )
        await self._runtime.start()
        for name in self._names:
            spec = await attempted(self._spec(name))
            if isinstance(spec, PlatformSpec):
                self._specs[name] = spec
            elif isinstance(spec, FaceSpec):
                self._face_specs[name] = spec
                del self._couriers[name]
            else:
                self._note_failure(name, spec)
        if not (self._specs or self._face_specs):
            raise self._nothing_to_run()

    async def run(self, stop: asyncio.Event) -> None:
        """Work until ``stop`` is set, then drain; `load` comes first."""
        specs = self._specs
        crashed = read_state(self._runtime.paths.home)
        if crashed is not None and not crashed.clean:
            await self._tell_of_crash(specs, crashed)
        self._write()
        for name, spec in specs.items():
            self._senders.start(f"courier {name}", self._couriers[name].run)
            self._supervisor.start(name, partial(self._connected, name, spec))
        for name, face in self._face_specs.items():
            self._supervisor.start(name, partial(self._serving, name, face))
        self._senders.start("upkeep", self._keep_up)
        try:
            await stop.wait()
        finally:
            await self._drain()

    # -- platforms -----------------------------------------------------------------------

    def _note_failure(self, name: str, error: Exception) -> None:
        failure = error if isinstance(error, HermesError) else HermesError(one_line(error))
        self._failed[name] = failure
        self._runtime.host.report_problem(name, failure.message, failure.hint)

    def _nothing_to_run(self) -> UsageError:
        reasons = "; ".join(failure.message for failure in self._failed.values())
        hints = [failure.hint for failure in self._failed.values() if failure.hint]
        usual = "`hermes plugins list` shows what is installed, and why something is off."
        return UsageError(
            f"no enabled platform can be started: {reasons}", hint=" ".join(hints) or usual
        )

    async def _spec(self, name: str) -> PlatformSpec | FaceSpec:
        """What the gateway is to run under this name.

        Raises:
            PluginError: nobody offers it, or the plugin that does is off.
            HermesError: the face says that a setting is missing.
        """
        host = self._runtime.host
        for loaded in await host.load("hermes.platforms", [name]):
            for spec in loaded.platforms:
                if spec.id == name:
                    if isinstance(spec, FaceSpec) and spec.check is not None:
                        spec.check(self._runtime.handle(loaded.name))
                    return spec
        offered = [one for one in host.found if (one.group, one.name) == ("hermes.platforms", name)]
        if not offered:
            raise PluginError(name, "no installed plugin offers this platform.")
        reason = host.why_off(offered[0]) or next(
            (one.text for one in host.problems if one.plugin == offered[0].plugin),
            "hermes_register_platforms does not offer it",
        )
        raise PluginError(name, f"this platform is not loaded: {reason}")

    def _owner(self, name: str) -> str:
        return next(
            loaded.name
            for loaded in self._runtime.host.loaded.values()
            if any(spec.id == name for spec in loaded.platforms)
        )

    async def _connected(self, name: str, spec: PlatformSpec) -> None:
        """One life of a platform."""
        platform = spec.make(self._runtime.handle(self._owner(name)))
        courier = self._couriers[name]
        inbox = GatewayInbox(
            name,
            self._runtime.config.settings.platforms[name],
            mailbox=self._mailbox,
            workers=self.workers,
            courier=courier,
            clock=self._clock,
            refused=self._count_refusal,
        )
        self._platforms[name] = platform
        courier.use(spec, platform)
        await self._wake_all(name)
        await platform.run(inbox)

    async def _serving(self, name: str, spec: FaceSpec) -> None:
        """One life of a face."""
        face = spec.make(self._face_host(self._owner(name)))
        self._faces[name] = face
        await face.run()

    async def _drained(self, name: str, face: GatewayFace) -> None:
        """Let a face end what it is at, within ``gateway.drain``."""
        if isinstance(face, Drained) and self._supervisor.health[name].state == "running":
            async with self._clock.timeout(self._settings.drain):
                await face.drain()

    def _count_refusal(self, sender: str) -> None:
        """The owner may want to know whom to allow; a flood of strangers must not fill the log."""
        self._refusals += 1
        if self._refusals <= 20:
            _log.info("a message of %s was refused: not in the allow-list", sender)

    async def _wake_all(self, platform: str) -> None:
        """Answer what was accepted before."""
        for conversation in await self._mailbox.open_conversations():
            if msgspec.json.decode(conversation)[0] == platform:
                self.workers.wake(conversation)

    async def _tell_of_crash(
        self, specs: Mapping[str, PlatformSpec], crashed: GatewayState
    ) -> None:
        """Where the service keeps nothing for us, people learn that something may be lost."""
        for name, spec in specs.items():
            if spec.replays:
                continue
            recent = await self._mailbox.recent(name, since=crashed.updated - RECENT)
            notes = [
                note_draft(one, _CRASHED, ident=f"crash.{self._started:.3f}.{number}.{name}")
                for number, one in enumerate(recent)
            ]
            await self._mailbox.post(notes, time=self._clock.now())

    # -- upkeep and end ------------------------------------------------------------------

    async def _keep_up(self) -> None:
        """Close what is unused, forget what is old, tell how things are; nothing grows over time."""
        number = 0
        while True:
            if number % (ROUNDS * 60) == 0:
                before = self._clock.now() - self._settings.keep_days * 86400
                await self._mailbox.prune(before=before)
            if number % ROUNDS == 0:
                await self.sessions.close_unused(self._settings.idle * 60)
                for name in self._platforms:
                    await self._wake_all(name)
            self._counts = await self._mailbox.counts()
            self._write()
            number += 1
            await self._clock.sleep(UPKEEP)

    async def _drain(self) -> None:
        """Nothing new, then what runs, then what is on its way, then the connections."""
        faces = [failure_of(self._drained(name, face)) for name, face in self._faces.items()]
        await asyncio.gather(self.workers.drain(self._settings.drain), *faces)
        try:
            async with self._clock.timeout(FLUSH):
                while not all(self._couriers[name].idle for name in self._platforms):
                    await self._clock.sleep(0.05)
        except TimeoutError:
            _log.info("some answers wait for the next start")
        await self._supervisor.stop(STOP_SECONDS)
        await self._senders.stop(STOP_SECONDS)
        if failure := await failure_of(self.sessions.close()):
            _log.error("a session was not closed: %s", one_line(failure), exc_info=failure)
        self._write(clean=True)

    def _write(self, *, clean: bool = False) -> None:
        """Tell how things are, where that changed or a minute has passed."""
        now = self._clock.now()
        state = GatewayState(
            pid=self._pid,
            started=self._started,
            updated=now,
            clean=clean,
            sessions=len(self.sessions),
            platforms={name: self._state_of(name) for name in self._names},
        )
        before = self._written
        if (
            before is not None
            and now - before.updated < 60
            and msgspec.structs.replace(before, updated=now) == state
        ):
            return
        self._written = state
        try:
            write_whole(self._file, msgspec.json.encode(state))
        except HermesError as error:
            _log.warning("%s", error)

    def _state_of(self, name: str) -> PlatformState:
        if name in self._failed:
            return PlatformState(state="not loaded", trouble=str(self._failed[name]))
        health = self._supervisor.health.get(name)
        unanswered, unsent = self._counts.get(name, (0, 0))
        if health is None:
            return PlatformState(state="starting", unanswered=unanswered, unsent=unsent)
        platform: object = self._platforms.get(name) or self._faces.get(name)
        trouble = health.error if health.state == "waiting" else ""
        if health.state == "running" and isinstance(platform, Watched):
            trouble = platform.trouble()
        return PlatformState(
            state=health.state,
            since=health.since,
            trouble=trouble,
            last_error=health.error,
            falls=health.falls,
            unanswered=unanswered,
            unsent=unsent,
        )


def read_state(home: Path) -> GatewayState | None:
    """What the last gateway of a home told of itself; None when there was none."""
    try:
        return msgspec.json.decode((home / STATE_FILE).read_bytes(), type=GatewayState)
    except (OSError, msgspec.MsgspecError):
        return None
