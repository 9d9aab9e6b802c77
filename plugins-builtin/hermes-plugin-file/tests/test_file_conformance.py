"""The file tools pass the suite that every tool set passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import msgspec
from hermes_plugin_file import hermes_register_tools

from hermes_plugins import Json
from hermes_plugins.testing import ToolSetConformance

PATCH = """*** Begin Patch
*** Update File: a.txt
@@
-one
+uno
*** Add File: new/n.txt
+fresh
*** Delete File: b.txt
*** Update File: sub/c.txt
*** Move to: sub/d.txt
@@
 three
+four
*** End Patch"""


class TestFileTools(ToolSetConformance):
    module = "hermes_plugin_file"
    programs = ("rg",)
    calls: ClassVar[Mapping[str, Sequence[Mapping[str, Json]]]] = {
        "read_file": [
            {"path": "a.txt"},
            {"path": "sub"},
            {"path": "a.txt", "offset": 1, "limit": 2},
        ],
        "write_file": [
            {"path": "a.txt", "content": "1\n"},
            {"path": "x/y/z.py", "content": "a = 1\n"},
            {"path": "caf\u00e9/\u00e9.txt", "content": "new"},
        ],
        "patch": [
            {"path": "a.txt", "old_string": "one", "new_string": "uno"},
            {"patch": PATCH},
        ],
        "search_files": [
            {"pattern": "t.o"},
            {"pattern": "*.txt", "target": "files"},
            {"pattern": "three", "path": "sub", "context": 2},
        ],
    }

    def prepare(self, folder: Path) -> None:
        (folder / "sub").mkdir()
        (folder / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
        (folder / "b.txt").write_text("gone\n", encoding="utf-8")
        (folder / "sub" / "c.txt").write_text("three\n", encoding="utf-8")
        (folder / ".gitignore").write_text("*.log\n", encoding="utf-8")


def test_the_four_tools_cost_a_request_little() -> None:
    tools = [(tool.name, tool.description, tool.parameters) for tool in hermes_register_tools()]
    assert len(msgspec.json.encode(tools)) <= 3200
