"""Writes constraints.txt: the newest versions that fit, of all that `make` installs.

``python scripts/pin_versions.py`` resolves in an empty environment of its own, with pip.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from venv import EnvBuilder

ROOT = Path(__file__).resolve().parent.parent
HEAD = "# Versions that the tests run with: made by `make constraints`.\n"


def resolve() -> dict[str, str]:
    """Name -> version of every distribution from elsewhere that the project and its tools need."""
    plugins = sorted(str(path.parent) for path in ROOT.glob("plugins-builtin/*/pyproject.toml"))
    with TemporaryDirectory() as folder:
        EnvBuilder(with_pip=False).create(folder)
        report = Path(folder) / "report.json"
        pip = [sys.executable, "-m", "pip", "--python", folder, "install", "--quiet", "--dry-run"]
        groups = ["--group", "pyproject.toml:dev", "--group", "pyproject.toml:site"]
        subprocess.run(
            [*pip, "--report", str(report), *groups, ".[all]", *plugins],
            cwd=ROOT,
            check=True,
        )
        rows = json.loads(report.read_text(encoding="utf-8"))["install"]
    facts = [row["metadata"] for row in rows]
    found = {fact["name"].lower().replace("_", "-"): fact["version"] for fact in facts}
    return {name: version for name, version in found.items() if not name.startswith("hermes-")}


def main() -> None:
    """Write the file."""
    lines = sorted(f"{name}=={version}\n" for name, version in resolve().items())
    (ROOT / "constraints.txt").write_text(HEAD + "".join(lines), encoding="utf-8")
    print(f"{len(lines)} versions in constraints.txt")


if __name__ == "__main__":
    main()
