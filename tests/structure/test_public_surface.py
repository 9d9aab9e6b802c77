"""The front of the kit is sealed: one table of names, and what was public once stays so."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import hermes_plugins
from hermes_plugins import testing


def block_of_types(root: Path) -> list[tuple[str, str]]:
    """Name and home of each import in the TYPE_CHECKING block of the kit."""
    tree = ast.parse((root / "hermes_plugins" / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    found = []
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        assert node.module is not None
        for alias in node.names:
            assert alias.asname == alias.name, f"{alias.name} is not exported again by its name"
            found.append((alias.name, node.module.removeprefix("hermes_plugins.")))
    return found


def rank(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions; by name in each."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def test_the_three_tables_of_the_kit_agree(root: Path) -> None:
    block = block_of_types(root)
    assert dict(block) == hermes_plugins._HOME
    assert set(hermes_plugins.__all__) == set(hermes_plugins._HOME)
    assert len(block) == len(hermes_plugins.__all__) == len(hermes_plugins._HOME)


def test_the_tables_are_sorted(root: Path) -> None:
    homes = [(home, rank(name)) for name, home in block_of_types(root)]
    assert homes == sorted(homes)
    assert list(hermes_plugins._HOME) == sorted(hermes_plugins._HOME)
    assert hermes_plugins.__all__ == sorted(hermes_plugins.__all__, key=rank)


def test_every_public_name_can_be_had() -> None:
    for module in (hermes_plugins, testing):
        assert [name for name in module.__all__ if getattr(module, name, None) is None] == []


def test_a_name_that_is_not_public_is_no_attribute() -> None:
    assert not hasattr(hermes_plugins, "NoSuchName")
    assert dir(hermes_plugins) == sorted(hermes_plugins.__all__)


def test_what_was_public_once_stays_and_what_is_new_is_noted(root: Path) -> None:
    script = root / "scripts" / "generate_public_surface.py"
    ended = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, check=False, encoding="utf-8"
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
