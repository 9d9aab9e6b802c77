"""The parts of a system prompt: where each begins, and whose it is.

A stored prompt is one text. Its parts are told by their beginnings: the kernel's own by fixed words,
those of plugins by what they render now. What nobody claims belongs to the part in front of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hermes_core.agent.prompt import MARKS
from hermes_core.hookspecs import HONOURED
from hermes_plugins._catalog import PromptPart
from hermes_plugins._errors import HermesError
from hermes_plugins._host import PromptContext

if TYPE_CHECKING:
    from hermes_core.runtime import Runtime

_BREAK = "\n\n"


async def sections(runtime: Runtime, *, face: str, toolsets: Sequence[str]) -> list[PromptPart]:
    """What the sections of the plugins that are on say now."""
    host = runtime.host
    for group in HONOURED:
        await host.load(group, host.names(group))
    found = []
    for plugin in sorted(host.loaded, key=host.rank):
        context = PromptContext(
            workspace=str(runtime.cwd),
            face=face,
            toolsets=tuple(toolsets),
            now=runtime.clock.now(),
            host=runtime.handle(plugin),
        )
        for section in host.loaded[plugin].prompt_sections:
            with contextlib.suppress(HermesError, OSError, ValueError, LookupError):
                found.append(PromptPart(id=section.id, plugin=plugin, text=section.render(context)))
    return found


def parts_of(system: str, known: Sequence[PromptPart]) -> tuple[PromptPart, ...]:
    """The parts of ``system`` in order; their texts, joined, are all of it."""
    starts: dict[int, tuple[str, str]] = {0: ("rules", "")}
    for name, mark in MARKS:
        for at in _places(system, mark):
            line = system[at + len(mark) :].partition("\n")[0]
            starts[at] = (f"{name} {line.rstrip(':')}" if name == "file" else name, "")
    for one in known:
        for beginning in (one.text, one.text.partition("\n")[0]):
            if len(beginning) > 3 and (places := _places(system, beginning)):
                starts[places[0]] = (one.id, one.plugin)
                break
    ends = [*sorted(starts)[1:], len(system)]
    return tuple(
        PromptPart(id=starts[at][0], plugin=starts[at][1], text=system[at:end])
        for at, end in zip(sorted(starts), ends, strict=True)
    )


def _places(system: str, beginning: str) -> list[int]:
    """Where a paragraph begins so."""
    found = [0] if system.startswith(beginning) else []
    at = system.find(_BREAK + beginning)
    while at >= 0:
        found.append(at + len(_BREAK))
        at = system.find(_BREAK + beginning, at + 1)
    return found
