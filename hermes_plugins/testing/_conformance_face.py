"""What every face that the gateway runs must do, as tests to subclass."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import ClassVar, Final

import pytest

from hermes_plugins._errors import HermesError
from hermes_plugins._faces import Drained, FaceSpec, GatewayFace
from hermes_plugins._platforms import Watched
from hermes_plugins.testing._clock import RealClock
from hermes_plugins.testing._host import HostFactory

_ID: Final = re.compile(r"[a-z][a-z0-9_-]*")
_LONG: Final = 10.0
"""Seconds after which something that has to come counts as lost; a gateway waits half of it."""


@pytest.mark.anyio
class FaceConformance:
    """Subclass as ``Test…`` and name the entry point and settings with which the face can run here.

    A face that checks its settings gives ``missing`` too: settings that its ``check`` must refuse. One
    that is not `Watched` or not `Drained` skips these tests. Not checked: anything that clients see.
    """

    name: ClassVar[str]
    settings: ClassVar[Mapping[str, object]] = {}
    """Dotted keys of hermes.yaml; let it listen on a free port of loopback, if it listens."""
    missing: ClassVar[Mapping[str, object] | None] = None

    async def test_its_id_is_a_plain_word(self, hermes: HostFactory) -> None:
        async with hermes(settings=self.settings) as host:
            spec, _ = await host.face(self.name)
            assert _ID.fullmatch(spec.id)
            assert spec.check is None or spec.check(host.runtime.handle(self.name)) is None

    async def test_what_is_missing_is_told_with_what_to_do(self, hermes: HostFactory) -> None:
        if self.missing is None:
            pytest.skip("it needs no settings")
        async with hermes(settings=self.missing) as host:
            spec, face = await host.face(self.name)
            assert spec.check is not None
            with pytest.raises(HermesError) as told:
                spec.check(face.host)
        assert "\n" not in told.value.message
        assert told.value.hint, "the hint is the command that mends it"

    async def test_it_runs_until_it_is_cancelled_and_can_be_made_again(
        self, hermes: HostFactory
    ) -> None:
        async with self._spec(hermes) as (spec, make):
            for _ in range(2):
                async with _running(make()) as task:
                    assert not task.done(), f"{spec.id} ended by itself"

    async def test_it_tells_how_it_is(self, hermes: HostFactory) -> None:
        async with self._spec(hermes) as (_, make):
            face: object = make()
            if not isinstance(face, Watched):
                pytest.skip("it is not Watched")
            assert face.trouble(), "it does not run yet, so something is wrong"
            assert "\n" not in face.trouble()
            async with _running(face):  # type: ignore[arg-type]
                assert face.trouble() == ""

    async def test_with_nothing_to_do_it_drains_at_once_and_does_not_end(
        self, hermes: HostFactory
    ) -> None:
        async with self._spec(hermes) as (_, make):
            face: object = make()
            if not isinstance(face, Drained):
                pytest.skip("it is not Drained")
            async with _running(face) as task:  # type: ignore[arg-type]
                async with RealClock().timeout(_LONG):
                    await face.drain()
                await asyncio.sleep(0)
                assert not task.done(), "a face that ends is started again"

    @asynccontextmanager
    async def _spec(
        self, hermes: HostFactory
    ) -> AsyncIterator[tuple[FaceSpec, Callable[[], GatewayFace]]]:
        async with hermes(settings=self.settings) as host:
            spec, face = await host.face(self.name)
            yield spec, lambda: spec.make(face)


@asynccontextmanager
async def _running(face: GatewayFace) -> AsyncIterator[asyncio.Task[None]]:
    """Let it run; it has to be there soon, and to end soon when it is cancelled."""
    task = asyncio.get_running_loop().create_task(face.run())
    clock = RealClock()
    try:
        async with clock.timeout(_LONG):
            while isinstance(face, Watched) and face.trouble() and not task.done():
                await clock.sleep(0.005)
        if task.done():
            task.result()
        yield task
    finally:
        task.cancel()
        ended, _ = await asyncio.wait({task}, timeout=_LONG)
        assert ended, "it did not end when it was cancelled"
    assert task.cancelled(), "being cancelled goes through"
