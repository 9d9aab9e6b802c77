"""Every command, of the kernel and of the built-in plugins, has help with an example, and JSON where it
reads."""

from __future__ import annotations

import re
import runpy
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

ROOT = Path(__file__).resolve().parents[2]
CLI = runpy.run_path(str(ROOT / "scripts" / "pages" / "cli.py"))
EXAMPLE = re.compile(r"^\x08\nExamples?:\n((?:  .+\n?)+)", re.MULTILINE)

READS = frozenset(
    {
        *("check", "doctor", "explain", "get", "info", "list", "logs", "path", "profile", "prompt"),
        *("schema", "search", "show", "status", "usage", "version", "why"),
    }
)
"""Names of commands that only look; a group of that name looks when it is called alone."""
WITHOUT_JSON: dict[str, str] = {}
"""Path of a command that reads, and why it has no ``--json``."""


def every(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from every(f"{path} {name}", inner)


ALL = dict(found for name, command, _ in CLI["commands"]() for found in every(name, command))


@pytest.mark.parametrize("path", ALL)
def test_a_command_says_what_it_does_and_shows_an_example(path: str) -> None:
    text = re.sub(r"^[ ]{4}", "", ALL[path].help or "", flags=re.MULTILINE)
    assert text.strip(), "no help"
    found = EXAMPLE.search(text.replace("\b", "\x08"))
    assert found, "no `Example:` after a \\b, indented by two"
    lines = [line.split("  ")[0] for line in map(str.strip, found[1].splitlines())]
    assert any(f"hermes {path}" in line for line in lines) or path == "chat", lines
    for line in lines:
        shlex.split(line)  # what is shown can be typed


@pytest.mark.parametrize("path", ALL)
def test_every_option_says_what_it_does(path: str) -> None:
    options = [one for one in ALL[path].params if isinstance(one, click.Option) and not one.hidden]
    assert [one.opts for one in options if not one.help] == []


@pytest.mark.parametrize(
    "path", [path for path in ALL if path.split()[-1] in READS and path not in WITHOUT_JSON]
)
def test_a_command_that_reads_has_json(path: str) -> None:
    command = ALL[path]
    if isinstance(command, click.Group) and not command.invoke_without_command:
        return
    assert any("--json" in one.opts for one in command.params)


def test_the_table_of_commands_has_each_on_one_line() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[`hermes (.+?)`\]\(#\S+\) \| (.+) \|$", page, re.MULTILINE)
    assert [path for path, _ in rows] == list(ALL)
    assert [path for path, text in rows if len(text) < 10] == []
