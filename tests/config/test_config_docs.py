"""hermes.yaml.example and docs/reference/config.md are made from the schema, and current."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

from hermes_core.config import load_config
from hermes_core.config_schema import Settings
from hermes_core.config_tree import fields_of
from hermes_core.paths import resolve_paths

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "generate_config_docs.py"


def test_the_files_are_current() -> None:
    answer = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False
    )
    assert (answer.returncode, answer.stderr) == (0, ""), "run scripts/generate_config_docs.py"


def test_the_example_changes_nothing_as_it_stands_nor_with_every_line_in_force(
    tmp_path: Path,
) -> None:
    text = (ROOT / "hermes.yaml.example").read_text(encoding="utf-8")
    paths = resolve_paths({"HERMES_HOME": str(tmp_path / "home")})
    paths.home.mkdir()
    in_force = re.sub(r"(?m)^#(?! )|^#(?=  )", "", text)
    assert in_force.count("\nmodel:\n") == 1
    for content in (text, in_force):
        (paths.home / "hermes.yaml").write_text(content, encoding="utf-8")
        config = load_config(paths, cwd=tmp_path, environ={})
        assert config.settings == Settings()
        assert config.notes == ()


def test_every_key_has_a_meaning_in_the_example_and_in_the_reference() -> None:
    made = runpy.run_path(str(SCRIPT))
    example, reference = made["example"](), made["reference"]()
    for section in fields_of(Settings).values():
        assert f"\n#{section.name}:" in example
        assert f"\n## {section.name}\n" in reference
    rows = [line for line in reference.splitlines() if line.startswith("| `")]
    meanings = [row.split(" | ")[-1].strip("| ") for row in rows if row.count(" | ") >= 3]
    assert len(meanings) > 60
    assert all(meanings)
    for key in ("display.skin", "agent.max_turns", "tools.blocked", "gate.deny", "skills.names"):
        (row,) = [row for row in rows if row.startswith(f"| `{key}` ")]
        assert "**project**" in row
    assert len([row for row in rows if "**project**" in row]) == 10
