"""The clarify tool passes the suite that every tool set passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from hermes_plugins import Json, ToolContext
from hermes_plugins.testing import FakeContext, RecordingEnvironment, ToolSetConformance


class TestClarify(ToolSetConformance):
    module = "hermes_plugin_clarify"
    calls: ClassVar[Mapping[str, Sequence[Mapping[str, Json]]]] = {
        "clarify": [
            {"question": "Which one?"},
            {"question": "Tea or coffee?", "choices": ["tea", "coffee"]},
        ]
    }

    def context(self, folder: Path, environment: RecordingEnvironment) -> ToolContext:
        return FakeContext(folder, environment=environment, answers=["tea", "tea"])
