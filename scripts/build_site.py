"""Builds docs/ as a site in build/site, without a network: ``make docs``.

The pages are copied to build/pages first, with what lies outside of docs/ and is linked to from there
(each example and each built-in plugin's README as a page, other files as they are), since a site has no
way out of its folder. The navigation is docs/index.md: its headings and its links. A link that leads
nowhere fails the build, and so does a page that would load something from elsewhere.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SITE = ROOT / "build" / "site"
LINK: Final = re.compile(r"\]\((?P<target>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)")
FENCE: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LANGUAGES: Final = {".py": "python", ".toml": "toml", ".json": "json"}
# What a browser fetches by itself: not a link that somebody may follow.
LOADED: Final = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^\"' >]+"
    r"|<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|preconnect|preload|icon))[^>]*\bhref=[\"']?"
    r"(?:https?:)?//[^\"' >]+"
    r"|@import\s+[^;]+//[^;]+|url\([\"']?(?:https?:)?//[^)]+\)"
)
SETTINGS: Final = """\
[project]
site_name = "Hermes"
site_description = "A personal AI agent built as a plugin host"
docs_dir = "pages"
site_dir = "site"
extra_css = ["site.css"]
nav = [
{nav}]

[project.theme]
font = false
features = [
  "navigation.sections", "navigation.footer", "navigation.top", "content.code.copy", "toc.follow",
]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle = {{ icon = "lucide/sun", name = "Dark" }}

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle = {{ icon = "lucide/moon", name = "Light" }}

[project.extra]
generator = false
polyfills = ["iframe-worker.js"]

[project.plugins.search]

[project.plugins.offline]
"""


def stage(folder: Path) -> None:
    """Put the pages and the settings of the site into a folder."""
    pages = folder / "pages"
    for page in sorted(DOCS.glob("**/*.md")):
        _write(pages / page.relative_to(DOCS), _inside(page))
    for example in sorted((DOCS / "examples").iterdir()):
        _write(pages / "examples" / f"{example.name}.md", "\n".join(_listing(example)))
    _write(pages / "examples" / "index.md", "\n".join(_examples()))
    for readme in sorted(ROOT.glob("plugins-builtin/*/README.md")):
        _write(pages / "plugins" / f"{readme.parent.name}.md", _inside(readme))
    for file in Path(__file__).with_name("site").iterdir():
        shutil.copy(file, pages)
    shutil.copy(ROOT / "hermes.yaml.example", pages)
    _write(folder / "zensical.toml", SETTINGS.format(nav="".join(navigation())))


def navigation() -> Iterator[str]:
    """The lines of the navigation: a section for each second-level heading of docs/index.md."""
    parts = re.split(r"^## (.+)$", (DOCS / "index.md").read_text(encoding="utf-8"), flags=re.M)
    yield '  "index.md",\n'
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        first, *inner = re.split(r"^### (.+)$", text, flags=re.M)
        yield f'  {{ "{title}" = [\n{"".join(_entries(first))}'
        for name, rest in zip(inner[::2], inner[1::2], strict=True):
            yield f'    {{ "{name}" = [\n{"".join(_entries(rest))}    ] }},\n'
        if title == "Look it up":
            yield f'    {{ "Built-in plugins" = [\n{"".join(_plugins())}    ] }},\n'
        yield "  ] },\n"


def _entries(text: str) -> Iterator[str]:
    for title, target in re.findall(r"^- \[(.+?)\]\((\S+?)\)", text, re.MULTILINE):
        yield f'    {{ "{title}" = "{target}" }},\n'


def _plugins() -> Iterator[str]:
    for readme in sorted(ROOT.glob("plugins-builtin/*/README.md")):
        name = readme.parent.name
        title = name.removeprefix("hermes-plugin-")
        yield f'      {{ "{title}" = "plugins/{name}.md" }},\n'


def _inside(page: Path) -> str:
    """A page with its links as they are in the site."""
    own = _place(page)

    def moved(found: re.Match[str]) -> str:
        target = (page.parent / found["target"]).resolve()
        place = os.path.relpath(_place(target), own.parent).replace(os.sep, "/")
        return f"]({place}{found['anchor'] or ''})"

    text, done = page.read_text(encoding="utf-8"), ""
    position = 0
    for fence in [*FENCE.finditer(text), None]:
        end = fence.start() if fence else len(text)
        done += LINK.sub(moved, text[position:end]) + (fence[0] if fence else "")
        position = fence.end() if fence else end
    return done


def _place(path: Path) -> Path:
    """Where a file of the repository is in the site."""
    if path.is_relative_to(DOCS / "examples"):
        inner = path.relative_to(DOCS / "examples").parts
        return Path("examples", f"{inner[0]}.md" if inner else "index.md")
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS)
    if path.name == "README.md" and path.parent.parent.name == "plugins-builtin":
        return Path("plugins", f"{path.parent.name}.md")
    return Path(path.name)


def _listing(example: Path) -> Iterator[str]:
    """A page with every file of an example."""
    yield f"# {example.name}\n"
    for path in sorted(example.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            language = LANGUAGES.get(path.suffix, "text")
            name = path.relative_to(example).as_posix()
            code = path.read_text(encoding="utf-8").rstrip("\n")
            yield f"## `{name}`\n\n```{language}\n{code}\n```\n"


def _examples() -> Iterator[str]:
    yield "# Examples\n\nThe files of docs/examples; the tests run every one of them.\n"
    for example in sorted((DOCS / "examples").iterdir()):
        yield f"- [{example.name}]({example.name}.md)"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="\n")


def build(folder: Path) -> int:
    """Build the site in ``folder/site``; returns an exit status."""
    shutil.rmtree(folder / "pages", ignore_errors=True)
    shutil.rmtree(folder / "site", ignore_errors=True)
    stage(folder)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        sys.stderr.write(done.stdout + done.stderr.partition("Traceback")[0])
        return 1
    loaded = list(loads(folder / "site"))
    for line in loaded:
        print(line, file=sys.stderr)
    return 1 if loaded else 0


def loads(site: Path) -> Iterator[str]:
    """What pages and style sheets would fetch from elsewhere, each with the file's name."""
    for file in sorted(site.rglob("*")):
        if file.suffix in (".html", ".css"):
            for found in LOADED.finditer(file.read_text(encoding="utf-8")):
                yield f"{file.relative_to(site)} loads {found[0]}"


def main() -> int:
    """Build it, and say where it is."""
    status = build(SITE.parent)
    if status == 0:
        print(f"The site is in {SITE.relative_to(ROOT)}; open {SITE.relative_to(ROOT)}/index.html")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
