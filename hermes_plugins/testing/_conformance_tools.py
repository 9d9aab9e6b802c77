"""What every tool set must do, as tests to subclass."""

from __future__ import annotations

import asyncio
import copy
import inspect
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import ClassVar, Final

import msgspec
import pytest

from hermes_plugins._effects import resolve_effects
from hermes_plugins._messages import Json
from hermes_plugins._tools import Handled, Tool, ToolContext, ToolResult
from hermes_plugins.testing._conformance_provider import (
    import_chain,
    imported_by,
    imported_by_the_kit,
)
from hermes_plugins.testing._context import FakeContext
from hermes_plugins.testing._environments import FolderEnvironment
from hermes_plugins.testing._recording import RecordingEnvironment, undeclared

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_FREE: Final = frozenset({"hermes_plugins", "msgspec", "pluggy", "typing_extensions"})
_HEAVY: Final = frozenset(
    {"asyncio", "concurrent", "ctypes", "email", "http", "multiprocessing", "socket", "sqlite3"}
    | {"ssl", "subprocess", "tempfile", "tomllib", "unittest", "urllib", "xml", "zipfile"}
)
"""Parts of the standard library that cost start-up more than a millisecond."""


async def call_tool(tool: Tool, arguments: Mapping[str, Json], context: ToolContext) -> Handled:
    """Call a handler as the host does: a plain one in a worker thread, the context injected."""
    given: dict[str, object] = copy.deepcopy(dict(arguments))
    if tool.context_parameter:
        given[tool.context_parameter] = context
    if inspect.iscoroutinefunction(tool.handler):
        answer: Handled = await tool.handler(**given)
        return answer
    return await asyncio.to_thread(tool.handler, **given)  # type: ignore[arg-type]


class ToolSetConformance:
    """Subclass as ``Test…``, set ``module`` and ``calls``, and lay out what the calls need.

    Each sample call runs in a folder of its own, in an environment that notes what is touched; what
    the tool's effects did not declare for those arguments fails the test.
    """

    module: ClassVar[str] = ""
    """Name of the entry module."""
    calls: ClassVar[Mapping[str, Sequence[Mapping[str, Json]]]] = {}
    """Arguments that work, by tool name; one call of each tool at least."""
    programs: ClassVar[tuple[str, ...]] = ()
    """Programs that a tool runs, as an argument list, only to do what its other effects declare."""
    schema_bytes: ClassVar[int] = 2000
    """What one tool may cost in every request: name, description and parameters as JSON."""

    @pytest.fixture
    def tools(self) -> list[Tool]:
        """What the plugin registers."""
        return list(import_module(self.module).hermes_register_tools())

    def prepare(self, folder: Path) -> None:
        """Lay out the files that the sample calls need."""

    def context(self, folder: Path, environment: RecordingEnvironment) -> ToolContext:
        """What the handlers get. Keep ``environment`` in it: it is what notes the touches."""
        return FakeContext(folder, environment=environment)

    def test_it_registers_tools_without_io(self, tools: list[Tool]) -> None:
        assert tools
        again = import_module(self.module).hermes_register_tools()
        assert [tool.name for tool in tools] == [tool.name for tool in again]

    def test_names_are_plain_and_different(self, tools: list[Tool]) -> None:
        names = [name for tool in tools for name in (tool.name, *tool.aliases)]
        assert [name for name in names if not _NAME.fullmatch(name)] == []
        assert len(set(names)) == len(names)

    def test_every_tool_says_what_it_does(self, tools: list[Tool]) -> None:
        assert [tool.name for tool in tools if not tool.description.strip()] == []
        assert [tool.name for tool in tools if not tool.toolset] == []

    def test_schemas_are_objects_and_small(self, tools: list[Tool]) -> None:
        for tool in tools:
            properties = tool.parameters.get("properties")
            assert tool.parameters.get("type") == "object", tool.name
            assert isinstance(properties, dict), tool.name
            required = tool.parameters.get("required", [])
            assert isinstance(required, list), tool.name
            assert {str(name) for name in required} <= set(properties), tool.name
            for name, schema in properties.items():
                assert isinstance(schema, dict), f"{tool.name}.{name}"
                assert {"type", "enum", "anyOf", "$ref"} & set(schema), f"{tool.name}.{name}"
            size = len(msgspec.json.encode((tool.name, tool.description, tool.parameters)))
            assert size <= self.schema_bytes, f"{tool.name}: {size} bytes in every request"

    def test_a_label_is_one_of_the_arguments(self, tools: list[Tool]) -> None:
        for tool in tools:
            properties = tool.parameters["properties"]
            assert isinstance(properties, dict)
            assert tool.label in ("", *properties), tool.name

    def test_handlers_are_annotated(self, tools: list[Tool]) -> None:
        for tool in tools:
            signature = inspect.signature(tool.handler)
            bare = [
                name
                for name, parameter in signature.parameters.items()
                if parameter.annotation is parameter.empty
            ]
            assert bare == [], f"{tool.name}: no annotation"
            assert signature.return_annotation is not signature.empty, (
                f"{tool.name}: no result type"
            )

    def test_every_tool_has_a_sample_call(self, tools: list[Tool]) -> None:
        assert {tool.name for tool in tools} == {
            name for name, calls in self.calls.items() if calls
        }

    def test_sample_calls_fit_the_schema(self, tools: list[Tool]) -> None:
        for tool in tools:
            properties = tool.parameters["properties"]
            assert isinstance(properties, dict)
            required = tool.parameters.get("required", [])
            assert isinstance(required, list)
            for arguments in self.calls.get(tool.name, ()):
                assert set(arguments) <= set(properties), tool.name
                assert {str(name) for name in required} <= set(arguments), tool.name

    def test_effects_are_known_for_sample_calls(self, tools: list[Tool]) -> None:
        for tool in tools:
            for arguments in self.calls.get(tool.name, ()):
                given = copy.deepcopy(dict(arguments))
                effects = resolve_effects(tool.effects, given)
                assert not effects.unknown, f"{tool.name}: effects of {arguments} are unknown"
                assert effects == resolve_effects(tool.effects, given), f"{tool.name}: not pure"
                assert given == arguments, f"{tool.name}: its effects changed the arguments"

    async def test_calls_touch_only_what_they_declare(
        self, tools: list[Tool], tmp_path: Path
    ) -> None:
        for tool in tools:
            for count, arguments in enumerate(self.calls.get(tool.name, ())):
                folder = tmp_path / f"{tool.name}-{count}"
                folder.mkdir()
                self.prepare(folder)
                environment = RecordingEnvironment(FolderEnvironment(folder))
                result = await call_tool(tool, arguments, self.context(folder, environment))
                await environment.close()
                assert isinstance(result, str | ToolResult | Mapping | Sequence | None), tool.name
                effects = resolve_effects(tool.effects, arguments)
                surprises = undeclared(
                    effects, environment.touches, environment, programs=self.programs
                )
                assert surprises == [], (
                    f"{tool.name}({dict(arguments)}) touched what it did not say"
                )

    def test_the_entry_module_is_cheap(self) -> None:
        found = imported_by(self.module, "hermes_register_tools")
        added = found - imported_by_the_kit() - _FREE - {self.module}
        wrong = (added & _HEAVY) | (added - sys.stdlib_module_names)
        chains = [import_chain(self.module, name) or name for name in sorted(wrong)]
        assert chains == [], f"import this inside a function, on use: {', '.join(chains)}"
