"""The terminal sessions in README.md and docs/ are what really happens, line by line."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "record_sessions.py"))
RECORDED: Callable[[str, str], str] = SCRIPT["recorded"]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
SHOWN = [
    (page.name, name, text)
    for page in PAGES
    for name, text in SCRIPT["BLOCK"].findall(page.read_text(encoding="utf-8"))
]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")


@pytest.mark.parametrize(("page", "name", "text"), SHOWN, ids=[f"{p}-{n}" for p, n, _ in SHOWN])
def test_a_session_goes_as_it_is_shown(page: str, name: str, text: str) -> None:
    assert RECORDED(name, text) == text, f"{page}: run scripts/record_sessions.py"


def test_there_are_sessions_to_check() -> None:
    assert {name for _, name, _ in SHOWN} >= {"offline", "scripted"}
