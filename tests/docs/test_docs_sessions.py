"""The terminal sessions in README.md and docs/ are what really happens, line by line."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "record_sessions.py"))
PLAYED: Callable[[str], str] = SCRIPT["played"]
TEXTS = {
    page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md")))
}
SHOWN = [name for name, text in TEXTS.items() if SCRIPT["BLOCK"].search(text)]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")


@pytest.mark.parametrize("page", SHOWN)
def test_a_session_goes_as_it_is_shown(page: str) -> None:
    assert PLAYED(TEXTS[page]) == TEXTS[page], f"{page}: run scripts/record_sessions.py"


def test_there_are_sessions_to_check() -> None:
    assert set(SHOWN) >= {
        "README.md",
        "docs/tutorial/first-chat.md",
        "docs/tutorial/first-plugin.md",
    }


def test_a_session_that_goes_another_way_is_noticed() -> None:
    page = TEXTS["README.md"].replace("1|Buy milk.", "1|Buy tea.")
    assert PLAYED(page) == TEXTS["README.md"]
