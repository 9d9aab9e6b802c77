"""Plugins that tell what they were asked, as the tests of the host use them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from hermes_core import hookspecs
from hermes_plugins import Allow, Runs, Tool, hookimpl, tool

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


class Shelf:
    """Distributions that a test writes: into a plugin folder, or onto sys.path as if installed."""

    def __init__(self, home: Path, installed: Path) -> None:
        self.plugins = home / "plugins"
        self.installed = installed

    def put(
        self,
        name: str,
        points: Mapping[str, str],
        *,
        module: str = "",
        version: str = "1.0",
        requires: Sequence[str] = (),
        into: Path | None = None,
    ) -> Path:
        """Write a distribution: ``points`` maps ``group/name`` to a target; ``module`` is source.

        The module is called like the distribution. Goes to a folder of its own among the plugin
        folders unless ``into`` says where.
        """
        place = into or self.plugins / name
        under = name.replace("-", "_")
        info = place / f"{under}-{version}.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
        metadata += [f"Requires-Dist: {one}" for one in requires]
        (info / "METADATA").write_text("\n".join(metadata) + "\n", encoding="utf-8")
        lines: list[str] = []
        for point, target in points.items():
            group, _, entry = point.partition("/")
            lines.append(f"[{group}]\n{entry} = {target}\n")
        (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
        if module:
            (place / f"{under}.py").write_text(module, encoding="utf-8")
        return info

    def toolset(self, name: str, *tools: str, **where: object) -> Path:
        """A distribution ``hermes-plugin-NAME`` with one toolset; a tool is ``name`` or
        ``name/alias``."""
        module = f"hermes_plugin_{name}"
        source = [HEAD]
        for one in tools:
            label, _, alias = one.partition("/")
            source.append(
                f"@tool(toolset={name!r}, effects=[Pure()], aliases={(alias,) if alias else ()!r})\n"
                f"async def {label}() -> str:\n    'Do it.'\n    return 'from {name}'\n\n"
            )
        names = ", ".join(one.partition("/")[0] for one in tools)
        source.append(f"@hookimpl\ndef hermes_register_tools():\n    return [{names}]\n")
        return self.put(
            f"hermes-plugin-{name}",
            {f"hermes.tools/{name}": module},
            module="".join(source),
            **where,  # type: ignore[arg-type]
        )


HEAD = "from hermes_plugins import Allow, Pure, hookimpl, tool\n\n"


@pytest.fixture
def shelf(hermes_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    installed = tmp_path / "site-packages"
    installed.mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(installed)])
    before = set(sys.modules)
    yield Shelf(hermes_home, installed)
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
