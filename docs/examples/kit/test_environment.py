"""A driver of the group hermes.environments keeps every promise of the contract."""

from __future__ import annotations

from pathlib import Path

from hermes_plugins import Environment
from hermes_plugins.testing import EnvironmentConformance, FolderEnvironment


class TestFolderEnvironment(EnvironmentConformance):
    def make(self, tmp_path: Path) -> Environment:
        folder = tmp_path / "work"
        folder.mkdir()
        return FolderEnvironment(folder)
