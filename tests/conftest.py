"""The `hermes` command as a process of its own, on a home of the test's own."""

from pathlib import Path

import pytest

from hermes_plugins.testing._command import Command


@pytest.fixture
def command(hermes_home: Path, tmp_path: Path) -> Command:
    folder = tmp_path / "folder"
    folder.mkdir()
    return Command(hermes_home, folder)
