"""The tools of one session, by every name the model may use for them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping

import msgspec

from hermes_core.threads import Threads
from hermes_plugins._clock import Clock
from hermes_plugins._dialects import ToolSpec
from hermes_plugins._tools import Tool

AVAILABLE_SECONDS = 30.0
"""How long an ``available()`` answer is kept (reference: registry rules)."""
PROBE_SECONDS = 2.0
"""How long a probe may take; it is asked before the first word of a session."""

_log = logging.getLogger("hermes.registry")


class Owned(msgspec.Struct, frozen=True):
    """A tool and the plugin that offers it."""

    tool: Tool
    plugin: str


class Toolbox:
    """Looks tools up by name or alias; what is not in it does not exist for the session."""

    def __init__(self, owned: Iterable[Owned]) -> None:
        self._owned: dict[str, Owned] = {}
        self._aliases: dict[str, str] = {}
        for one in sorted(owned, key=lambda item: item.tool.name):
            self._owned[one.tool.name] = one
            for alias in one.tool.aliases:
                self._aliases[alias] = one.tool.name

    def __len__(self) -> int:
        return len(self._owned)

    def names(self) -> tuple[str, ...]:
        """Names, sorted."""
        return tuple(self._owned)

    def get(self, name: str) -> Owned | None:
        """The tool of that name or alias."""
        return self._owned.get(name) or self._owned.get(self._aliases.get(name, ""))

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model sees them, in a fixed order."""
        return tuple(
            ToolSpec(
                name=one.tool.name,
                description=one.tool.description,
                parameters=one.tool.parameters,
            )
            for one in self._owned.values()
        )


def permitted(
    owned: Iterable[Owned], *, allowed: Collection[str], blocked: Collection[str]
) -> list[Owned]:
    """Leave out what ``tools.allowed`` and ``tools.blocked`` forbid, by name or alias."""
    kept = []
    for one in owned:
        names = {one.tool.name, *one.tool.aliases}
        if names & set(blocked) or (not names & set(allowed) and "all" not in allowed):
            continue
        kept.append(one)
    return kept


class Availability:
    """Asks tools whether they can be used now, and remembers the answers for 30 seconds."""

    def __init__(self, clock: Clock, threads: Threads) -> None:
        self._clock = clock
        self._threads = threads
        self._answers: dict[str, tuple[float, str]] = {}

    async def reasons(self, tools: Iterable[Tool]) -> Mapping[str, str]:
        """Why tools cannot be used, by name; those that can are not in it.

        The probes run side by side, in threads. One that raises or hangs is a reason too.
        """
        asked = list(tools)
        answers = await asyncio.gather(*(self._reason(tool) for tool in asked))
        return {tool.name: text for tool, text in zip(asked, answers, strict=True) if text}

    async def _reason(self, tool: Tool) -> str:
        probe = tool.available
        if probe is None:
            return ""
        asked, answer = self._answers.get(tool.name, (float("-inf"), ""))
        if self._clock.monotonic() - asked < AVAILABLE_SECONDS:
            return answer
        answer = await self._ask(tool.name, probe)
        self._answers[tool.name] = (self._clock.monotonic(), answer)
        return answer

    async def _ask(self, name: str, probe: Callable[[], str]) -> str:
        try:
            async with self._clock.timeout(PROBE_SECONDS):
                return str(await self._threads.run(probe) or "")
        except TimeoutError:
            return f"its check took longer than {PROBE_SECONDS:g} s"
        except (Exception, SystemExit) as error:
            _log.warning("the check of tool %s failed", name, exc_info=error)
            return f"its check failed ({type(error).__name__}: {error})".partition("\n")[0]
