"""Plugins that tell what they were asked, as the tests of the host use them."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from hermes_core import hookspecs
from hermes_plugins import Allow, Runs, Tool, hookimpl, tool

HOOKS = [name for name in vars(hookspecs) if name.startswith("hermes_")]
VALUES = {
    "hermes_transform_turn": "added",
    "hermes_transform_model_request": "request",
    "hermes_transform_model_response": "response",
    "hermes_transform_tool_call": "arguments",
    "hermes_transform_tool_result": "text",
}


class Log:
    """Calls of hooks, in the order of their arrival."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, object]]] = []

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]

    def of(self, hook: str) -> list[dict[str, object]]:
        return [given for name, given in self.calls if name == hook]

    def plugin(self, *hooks: str, plain: bool = False) -> object:
        """A plugin with these hooks, which names every argument and gives values back unchanged."""
        return SimpleNamespace(**{hook: self._function(hook, plain) for hook in hooks})

    def _function(self, hook: str, plain: bool) -> object:
        import inspect

        names = ", ".join(inspect.signature(getattr(hookspecs, hook)).parameters)
        space: dict[str, object] = {"note": self._note}
        source = f"def {hook}({names}):\n    return note({hook!r}, dict(locals()))\n"
        exec(source if plain else f"async {source}", space)
        return hookimpl(space[hook])

    def _note(self, hook: str, given: dict[str, object]) -> object:
        self.calls.append((hook, given))
        if hook == "hermes_before_tool_call":
            return Allow()
        return given.get(VALUES.get(hook, ""))


@pytest.fixture
def log() -> Log:
    return Log()


class Workshop:
    """A tool set: ``hammer`` runs something, so the gate asks about it."""

    @hookimpl
    def hermes_register_tools(self) -> list[Tool]:
        @tool(toolset="workshop", effects=[Runs(arg="target")])
        async def hammer(target: str) -> str:
            """Hit something."""
            if target == "thumb":
                raise ValueError("ouch")
            return f"hit {target}"

        return [hammer]


@pytest.fixture
def workshop() -> dict[tuple[str, str], object]:
    return {("hermes.tools", "workshop"): Workshop()}


async def until(condition: object) -> None:
    """Let the loop run until ``condition()`` holds."""
    assert callable(condition)
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never came to that")
