"""The terminal tools pass the suite that every tool set passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from hermes_plugins import Json
from hermes_plugins.testing import ToolSetConformance


class TestTerminalTools(ToolSetConformance):
    module = "hermes_plugin_terminal"
    calls: ClassVar[Mapping[str, Sequence[Mapping[str, Json]]]] = {
        "terminal": [{"command": "echo hello"}, {"command": "exit 3", "timeout": 5}],
        "process": [{"action": "list"}],
    }
