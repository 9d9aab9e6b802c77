"""Writes tests/structure/public_surface.txt: everything that a plugin may rely on, a line each.

``python scripts/generate_public_surface.py`` adds what is new. It never takes a line away: what is
missing now is a break of somebody's plugin, and the script says so and fails. With ``--check`` it
writes nothing, and fails when the file is not current.

A line that really has to go (in a new major version) is deleted by hand, with a changelog fragment.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import hermes_plugins
from hermes_core import hookspecs
from hermes_plugins import testing

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "tests" / "structure" / "public_surface.txt"


def surface() -> list[str]:
    """The names of the kit, their fields, methods and parameters, and every hook's arguments."""
    lines: set[str] = set()
    for name in hermes_plugins.__all__:
        lines.update(_lines_of(name, getattr(hermes_plugins, name)))
    for name in testing.__all__:
        lines.update(_lines_of(f"testing.{name}", getattr(testing, name)))
    for name, hook in vars(hookspecs).items():
        if name.startswith("hermes_"):
            lines.update(_lines_of(name, hook))
    return sorted(lines)


def _lines_of(name: str, value: object) -> Iterator[str]:
    yield name
    if inspect.isclass(value):
        for member in _members_of(value):
            yield f"{name}.{member}"
        return
    if inspect.isfunction(value):
        for parameter in inspect.signature(value).parameters:
            yield f"{name}({parameter})"


def _members_of(kind: type) -> set[str]:
    """Public fields, attributes and methods, those of base classes of the project too."""
    found: set[str] = set()
    for base in kind.__mro__:
        if base.__module__.startswith("hermes_"):
            found |= set(vars(base)) | set(inspect.get_annotations(base))
    return {name for name in found if not name.startswith(("_", "test_"))}


def main() -> int:
    """Compare, and add what is new unless only asked; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    only_check = parser.parse_args().check
    kept = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
    now = surface()
    gone = sorted(set(kept) - set(now))
    new = sorted(set(now) - set(kept))
    if gone:
        print("The public surface shrank; plugins may use: " + ", ".join(gone), file=sys.stderr)
        return 1
    if new and only_check:
        print(f"{FILE.name} lacks: {', '.join(new)}. `make docs-generate` adds them.")
        return 1
    if new:
        FILE.write_text("\n".join(now) + "\n", encoding="utf-8", newline="\n")
        print(f"{len(new)} added to {FILE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
