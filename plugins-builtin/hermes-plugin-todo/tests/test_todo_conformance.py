"""The todo tool passes the suite that every tool set passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from hermes_plugins import Json
from hermes_plugins.testing import ToolSetConformance


class TestTodo(ToolSetConformance):
    module = "hermes_plugin_todo"
    calls: ClassVar[Mapping[str, Sequence[Mapping[str, Json]]]] = {
        "todo": [
            {},
            {"todos": [{"id": "1", "content": "look", "status": "in_progress"}]},
            {"todos": [{"id": "2", "content": "do", "status": "pending"}], "merge": True},
        ]
    }
