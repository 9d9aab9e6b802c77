"""The documentation is current, its code is real, its links and its commands lead somewhere."""

from __future__ import annotations

import importlib
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import hermes_plugins
from hermes_core.cli.app import COMMANDS, hermes, with_chat

ROOT = Path(__file__).resolve().parents[2]
BUILT_IN = {
    name: target
    for folder in ("plugins-builtin", "docs/examples")
    for file in ROOT.glob(f"{folder}/*/pyproject.toml")
    for name, target in tomllib.loads(file.read_text(encoding="utf-8"))["project"]["entry-points"]
    .get("hermes.commands", {})
    .items()
}
"""Commands of the plugins in this repository, and of the examples."""
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
READMES = sorted((ROOT / "plugins-builtin").glob("*/README.md"))
WRITTEN = [page for page in PAGES if page.parent.name != "reference"]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_what_is_made_from_source_is_current() -> None:
    script = str(ROOT / "scripts" / "generate_docs.py")
    done = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), "run scripts/generate_docs.py"


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_every_block_of_python_is_a_file_of_the_examples(page: Path) -> None:
    includes = runpy.run_path(str(ROOT / "scripts" / "pages" / "includes.py"))
    text = page.read_text(encoding="utf-8")
    rest = includes["BLOCK"].sub("", text)
    assert [code for language, code in FENCE.findall(rest) if language == "python"] == []
    for found in includes["BLOCK"].finditer(text):
        assert found["path"].startswith("docs/examples/")


def test_every_name_of_the_kit_has_a_section() -> None:
    text = (ROOT / "docs" / "reference" / "kit.md").read_text(encoding="utf-8")
    for name in hermes_plugins.__all__:
        assert f"\n### {name}\n" in text


def test_every_page_is_on_the_map() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*/*.md"):
        assert f"]({page.parent.name}/{page.name})" in index, page.name


@pytest.mark.parametrize(
    "page", [*PAGES, *READMES], ids=lambda page: f"{page.parent.name}/{page.name}"
)
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor and file.suffix == ".md":
            assert anchor in set(anchors(file)), f"{page.name}: {target}"


def anchors(page: Path) -> Iterator[str]:
    """The anchors that headings get."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        words = re.sub(r"[^\w\s-]", "", re.sub(r"\]\([^)]*\)", "", heading).lower())
        yield words.strip().replace(" ", "-")


def commands(text: str) -> Iterator[str]:
    """Every call of ``hermes`` in shell blocks, indented blocks and code spans."""
    for language, code in FENCE.findall(text):
        if language == "sh":
            yield from (line for line in code.splitlines() if "hermes" in line)
    rest = FENCE.sub("", text)
    yield from re.findall(r"^    (.*\bhermes .*)$", rest, re.MULTILINE)
    yield from re.findall(r"`(hermes [^`]+)`", rest.replace("\n", " "))


@pytest.mark.parametrize(
    "page", [*PAGES, *READMES], ids=lambda page: f"{page.parent.name}/{page.name}"
)
def test_commands_and_options_exist(page: Path) -> None:
    for line in commands(page.read_text(encoding="utf-8")):
        for call in re.findall(r"(?:^|\s|\()(?:\.venv/bin/)?hermes(?= )([^|;<>&)]*)", line):
            # Two spaces begin a remark.
            bare = "" if call.startswith("  ") else re.split(r"\s{2,}", call.strip())[0]
            check(shlex.split(bare.replace("…", " "), comments=True), line)


def check(arguments: list[str], line: str) -> None:
    """Fail where a command or an option of the call does not exist."""
    command: click.Command = hermes
    words = iter(with_chat(arguments))
    for word in words:
        if word.startswith("-") and word != "-":
            name, is_whole = word.partition("=")[0], "=" in word
            options = [one for one in (*command.params, *hermes.params) if name in one.opts]
            assert options or name in ("--help", "-h"), f"{line}: {name}"
            takes = [one for one in options if isinstance(one, click.Option) and not one.is_flag]
            if takes and not is_whole:
                next(words, "")
        elif isinstance(command, click.Group):
            found = inside(command, word)
            if found is None and (word.isupper() or "/" in word):
                return  # a placeholder, or the name of a model
            assert found is not None, f"{line}: {word}"
            command = found


def inside(group: click.Group, word: str) -> click.Command | None:
    """A command of a group, without asking what plugins are installed."""
    if group is not hermes:
        return group.commands.get(word)
    if word in COMMANDS:
        return group.get_command(click.Context(group), word)
    module, _, attribute = BUILT_IN.get(word, "").partition(":")
    for example in ROOT.glob(f"docs/examples/*/{module.partition('.')[0]}"):
        sys.path.append(str(example.parent))
    return getattr(importlib.import_module(module), attribute) if module else None


@pytest.mark.parametrize(
    "page", [*PAGES, *READMES], ids=lambda page: f"{page.parent.name}/{page.name}"
)
def test_nothing_speaks_of_one_machine(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"/tmp/\w+|/root\b", text) == []
