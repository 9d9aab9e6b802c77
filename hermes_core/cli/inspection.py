"""What `hermes doctor` may ask of the kernel: the kit's `Inspection`, whatever the settings say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from hermes_core.cli.plugin_rows import load_everything, rows
from hermes_core.clock import SystemClock
from hermes_core.config import process_environment, read_config
from hermes_core.dispatch import Fault
from hermes_core.faces import RuntimeFace
from hermes_core.paths import check_home
from hermes_core.runtime import Runtime
from hermes_core.store import health
from hermes_plugins._doctor import DoctorCheck, Finding, PluginState
from hermes_plugins._errors import HermesError, StoreError
from hermes_plugins._faces import FaceHost
from hermes_plugins._host import Paths


class RuntimeInspection:
    """Implements the kit's `Inspection`."""

    def __init__(self, runtime: Runtime, plugin: str) -> None:
        self._runtime = runtime
        self.face: FaceHost = RuntimeFace(runtime, plugin)

    async def plugins(self) -> Sequence[PluginState]:
        return [
            PluginState(
                name=row.name,
                state=row.state,
                distribution=row.distribution,
                version=row.version,
                reason=row.reason,
                hint=row.hint,
                offers=row.offers,
            )
            for row in await rows(self._runtime)
        ]

    async def store(self) -> Sequence[Finding]:
        file = self._runtime.paths.home / "state.db"
        return await asyncio.to_thread(health.look, file, self._runtime.clock.now())

    async def unsent(self) -> tuple[int, int]:
        if not (self._runtime.paths.home / "state.db").exists():
            return 0, 0
        try:
            counts = (await self._runtime.store.mailbox().counts()).values()
        except StoreError:
            return 0, 0
        return sum(one for one, _ in counts), sum(one for _, one in counts)

    async def checks(self) -> Sequence[tuple[str, DoctorCheck]]:
        host = self._runtime.host
        await load_everything(self._runtime)
        return [
            (name, check)
            for name in sorted(host.loaded, key=host.rank)
            for check in host.loaded[name].doctor
        ]

    async def run(self, plugin: str, check: DoctorCheck) -> Sequence[Finding]:
        dispatch, handle = self._runtime.host.dispatch, self._runtime.handle(plugin)
        hint = f"`hermes plugins disable {plugin}` goes on without it."
        try:
            answer = await dispatch.examine(
                plugin, f"its check {check.id}", lambda: check.run(handle), seconds=check.seconds
            )
        except Fault as fault:
            if isinstance(fault.error, HermesError):
                return [Finding(level="fail", text=fault.error.message, hint=fault.error.hint)]
            return [Finding(level="warn", text=f"{plugin}: {fault.text}.", hint=hint)]
        given = answer if isinstance(answer, list | tuple) else [answer]
        found = [one for one in given if isinstance(one, Finding)]
        if len(found) != len(given):
            text = f"{plugin}: its check {check.id} gave something that is no Finding."
            return [Finding(level="warn", text=text, hint=hint)]
        return found


@asynccontextmanager
async def open_inspection(
    paths: Paths, plugin: str, *, cwd: Path, scratch: Path | None
) -> AsyncIterator[RuntimeInspection]:
    """The kernel with what it can read of its settings; ``scratch`` is where sessions work and stay.

    Raises:
        HermesError: the home cannot be used.
    """
    if problem := check_home(paths):
        raise HermesError(problem)
    paths.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    runtime = Runtime(
        config=read_config(paths, cwd=cwd, environ=process_environment()),
        paths=paths,
        clock=SystemClock(),
        cwd=scratch or cwd,
        fresh=True,
        state=scratch and scratch / "state.db",
    )
    try:
        yield RuntimeInspection(runtime, plugin)
    finally:
        await runtime.close()
