"""Writes what is made from source: seven reference pages, and the code blocks of all others.

``python scripts/generate_docs.py`` writes them, after those of ``generate_config_docs.py``; with
``--check`` both only say whether they are current, with exit status 1 when they are not.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

from pages import cli, errors, events, hooks, includes, kit, providers, testing

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
CONFIG = ROOT / "scripts" / "generate_config_docs.py"


def texts() -> Iterator[tuple[Path, str]]:
    """Every file that is made here, and its text."""
    made = {
        "kit": kit,
        "hooks": hooks,
        "testing": testing,
        "events": events,
        "errors": errors,
        "cli": cli,
        "providers": providers,
    }
    for name, module in made.items():
        yield REFERENCE / f"{name}.md", module.page()
    yield from includes.included()


def main() -> int:
    """Write the files, or with ``--check`` compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare")
    check = parser.parse_args().check
    status: int = runpy.run_path(str(CONFIG))["main"]()
    for path, text in texts():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if check:
            status = 1
        else:
            path.write_text(text, encoding="utf-8", newline="\n")
        said = "is not current" if check else "written"
        print(f"{path.relative_to(ROOT)} {said}", file=sys.stderr)
    return status


if __name__ == "__main__":
    raise SystemExit(main())
