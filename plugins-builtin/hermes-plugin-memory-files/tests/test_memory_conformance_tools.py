"""The memory tool passes the suite that every tool set passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from hermes_plugins import Json
from hermes_plugins.testing import ToolSetConformance


class TestMemoryTool(ToolSetConformance):
    module = "hermes_plugin_memory_files"
    calls: ClassVar[Mapping[str, Sequence[Mapping[str, Json]]]] = {
        "memory": [
            {"action": "add", "target": "memory", "content": "The house has a blue door."},
            {"action": "add", "target": "user", "content": "Likes tea."},
        ]
    }
