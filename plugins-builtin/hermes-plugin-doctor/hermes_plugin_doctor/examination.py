"""The examination: groups of checks, in the order in which a person would look; each is shown when done.

What a broken home or broken settings rule out is left out, and said to be.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeAlias

import msgspec

from hermes_plugins import CommandHost, Finding, HermesError

from . import gateway, home, installation, model, plugins, terminal, turn
from .report import Done, Part

Findings: TypeAlias = Sequence[Finding]


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller wants done."""

    fix: bool = False
    turn: bool = True


async def examine(host: CommandHost, wanted: Wanted) -> AsyncIterator[Part]:
    """Every group, mended where that is wanted."""

    async def part(name: str, title: str, found: Findings) -> Part:
        done = [await _mended(one) if wanted.fix else Done(finding=one) for one in found]
        return Part(id=name, title=title, found=tuple(done))

    yield await part("installation", "Installation", installation.look(host))
    yield await part("home", "Home", home.look(host))
    settings = home.settings(host)
    yield await part("settings", "Settings", settings)
    is_sound = not any(one.level == "fail" for one in settings)
    try:
        async with host.inspect() as inspection:
            yield await part("terminal", "Terminal", terminal.look(inspection.face.host))
            yield await part("database", "Database", await inspection.store())
            yield await part("plugins", "Plugins", await plugins.look(host, inspection))
            for name, check in await inspection.checks():
                if own := await inspection.run(name, check):
                    yield await part(check.id, check.title, own)
            yield await part("gateway", "Gateway", await gateway.look(host, inspection))
            found, is_ready = await model.look(inspection.face)
            yield await part("model", "Model", found)
    except HermesError as error:
        failed = Finding(level="fail", text=error.message, hint=error.hint)
        left = Finding(level="info", text="The rest was not looked at: it needs a home.")
        yield await part("kernel", "Kernel", [failed, left])
        return
    yield await part("turn", "A real turn", await _turn(host, wanted, is_sound and is_ready))


async def _turn(host: CommandHost, wanted: Wanted, is_ready: bool) -> Findings:
    if not wanted.turn:
        return [Finding(level="info", text="Not tried: --no-turn.")]
    if not is_ready:
        return [Finding(level="info", text="Not tried: mend what stands above first.")]
    return await turn.look(host)


async def _mended(finding: Finding) -> Done:
    fix: Callable[[], Awaitable[str]] | None = finding.fix
    if fix is None:
        return Done(finding=finding)
    try:
        return Done(finding=finding, mended=await fix())
    except (HermesError, OSError) as error:
        return Done(finding=finding, failed=str(error))
