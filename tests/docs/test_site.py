"""docs/ builds as a site, with every page in its navigation, and loads nothing from elsewhere."""

from __future__ import annotations

import runpy
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "build_site.py"))
BUILD: Callable[[Path], int] = SCRIPT["build"]
LOADS: Callable[[Path], Iterator[str]] = SCRIPT["loads"]
NAVIGATION: Callable[[], Iterator[str]] = SCRIPT["navigation"]
STAGE: Callable[[Path], None] = SCRIPT["stage"]
GROUPS = ("tutorial", "how-to", "reference", "explanation")

needs_builder = pytest.mark.skipif(
    find_spec("zensical") is None, reason="zensical is not installed; `make docs` installs it"
)


@needs_builder
def test_the_site_builds_whole_and_needs_no_network(tmp_path: Path) -> None:
    assert BUILD(tmp_path) == 0
    site = tmp_path / "site"
    for page in (path for group in GROUPS for path in (ROOT / "docs" / group).glob("*.md")):
        built = site / page.parent.name / f"{page.stem}.html"
        assert built.is_file(), page
    assert (site / "plugins" / "hermes-plugin-file.html").is_file()
    assert (site / "examples" / "hermes-plugin-words.html").is_file()
    assert (site / "hermes.yaml.example").is_file()


@needs_builder
def test_a_link_that_leads_nowhere_fails_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    docs = tmp_path / "docs"
    shutil.copytree(ROOT / "docs", docs)
    page = docs / "how-to" / "repl.md"
    page.write_text(page.read_text("utf-8") + "\n[more](no-such-page.md)\n", encoding="utf-8")
    monkeypatch.setitem(BUILD.__globals__, "DOCS", docs)
    assert BUILD(tmp_path / "built") == 1
    told = capfd.readouterr().err
    assert "how-to/repl.md" in told
    assert "Traceback" not in told


def test_the_navigation_has_four_parts_and_every_page() -> None:
    lines = list(NAVIGATION())
    text = "".join(lines)
    parts = [line.partition('"')[2].partition('"')[0] for line in lines if line.startswith("  {")]
    assert parts == ["Learn it", "Do something", "Look it up", "Understand it"]
    for page in (ROOT / "docs").glob("*/*.md"):
        assert f'= "{page.parent.name}/{page.name}" }}' in text, page


def test_every_link_of_a_page_leads_to_a_file_of_the_site(tmp_path: Path) -> None:
    STAGE(tmp_path)
    link, fence = SCRIPT["LINK"], SCRIPT["FENCE"]
    for page in (tmp_path / "pages").rglob("*.md"):
        for found in link.finditer(fence.sub("", page.read_text(encoding="utf-8"))):
            assert (page.parent / found["target"]).is_file(), f"{page}: {found['target']}"


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example.org/x.js"></script>',
        "<script src=https://cdn.example.org/x.js></script>",
        '<link rel="stylesheet" href="//fonts.example.org/css">',
        '<link href="https://fonts.example.org" rel="preconnect">',
        "<style>@font-face{src:url(https://fonts.example.org/a.woff2)}</style>",
        '<img src="https://example.org/a.png">',
    ],
)
def test_what_a_page_would_load_from_elsewhere_is_found(tmp_path: Path, text: str) -> None:
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    assert list(LOADS(tmp_path))


def test_a_link_that_somebody_may_follow_is_no_load(tmp_path: Path) -> None:
    text = '<a href="https://example.org/a.png">there</a> <img src="a.png">'
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    assert list(LOADS(tmp_path)) == []
