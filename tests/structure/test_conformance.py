"""Every built-in plugin runs the suite of what it offers, as a stranger's would."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SUITES = {
    "hermes.tools": ("ToolSetConformance",),
    "hermes.providers": ("ProviderConformance",),
    "hermes.environments": ("EnvironmentConformance",),
    "hermes.platforms": ("PlatformConformance", "FaceConformance"),
    "hermes.memory": ("MemoryConformance",),
}
# A dialect that speaks to no server cannot run a suite that scripts one.
EXCEPT = {("hermes-plugin-offline", "hermes.dialects")}


def test_every_built_in_runs_the_suite_of_its_groups() -> None:
    suites = {**SUITES, "hermes.dialects": ("DialectConformance",)}
    missing = []
    for project in sorted((ROOT / "plugins-builtin").glob("*/pyproject.toml")):
        groups = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["entry-points"]
        tests = [path.read_text(encoding="utf-8") for path in project.parent.glob("tests/*.py")]
        for group in groups:
            fitting = suites.get(group)
            if fitting is None or (project.parent.name, group) in EXCEPT:
                continue
            if not any(f"({suite})" in text for text in tests for suite in fitting):
                missing.append(f"{project.parent.name}: {group} without {' or '.join(fitting)}")
    assert missing == []
