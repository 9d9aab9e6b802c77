"""docs/reference/cli.md: every command of the kernel and of the built-in plugins, from click's own
description of it."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click

from hermes_core.cli.app import COMMANDS, hermes

ROOT = Path(__file__).resolve().parents[2]
_HEAD = """\
# Commands

Made from click's description of them by `scripts/generate_docs.py`; do not edit.

`hermes` alone, or with options only, is `hermes chat`. Commands of built-in plugins stand here as well,
with the plugin's name; those of others (group `hermes.commands`) are listed by `hermes --help`, too.
Exit statuses stand in [errors](errors.md#exit-statuses).
"""


def page() -> str:
    """The text."""
    parts = [_HEAD, "## hermes\n", *_options(hermes)]
    found = [
        (path, inner, plugin)
        for name, command, plugin in commands()
        for path, inner in _commands(name, command)
    ]
    rows = [
        f"| [`hermes {path}`](#{_anchor(path)}) | {_first(command)}{plugin and f' ({plugin})'} |"
        for path, command, plugin in found
    ]
    parts.append("| command | |\n|---|---|\n" + "\n".join(rows))
    for path, command, plugin in found:
        parts += _section(path, command)
        if plugin:
            parts.append(f"From the built-in plugin `{plugin}`.")
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def commands() -> Iterator[tuple[str, click.Command, str]]:
    """Every command with its name, and the name of the built-in plugin that it comes from."""
    for name, (target, _) in COMMANDS.items():
        yield name, _loaded(target), ""
    for file in sorted(ROOT.glob("plugins-builtin/*/pyproject.toml")):
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        points = project.get("entry-points", {}).get("hermes.commands", {})
        for name, target in sorted(points.items()):
            yield name, _loaded(target), project["name"].removeprefix("hermes-plugin-")


def _loaded(target: str) -> click.Command:
    module, _, attribute = target.partition(":")
    command: click.Command = getattr(import_module(module), attribute)
    return command


def _commands(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _commands(f"{path} {name}", inner)


def _anchor(path: str) -> str:
    return f"hermes-{path.replace(' ', '-')}"


def _first(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "").split("\n\n")[0].replace("\n", " ")


def _section(path: str, command: click.Command) -> Iterator[str]:
    yield f"## hermes {path}"
    arguments = [_argument(one) for one in command.params if isinstance(one, click.Argument)]
    inner = (
        ["[COMMAND]" if command.invoke_without_command else "COMMAND"]
        if isinstance(command, click.Group)
        else []
    )
    yield "`" + " ".join(["hermes", path, "[OPTIONS]", *inner, *arguments]) + "`"
    for text in inspect.cleandoc(command.help or "").split("\n\n"):
        if text.startswith("\b"):
            head, *lines = text.removeprefix("\b\n").splitlines()
            block = "\n".join(line.removeprefix("  ") for line in lines)
            yield f"{head}\n\n```sh\n{block}\n```"
        else:
            yield text
    yield from _options(command)


def _argument(argument: click.Argument) -> str:
    name = (argument.metavar or (argument.name or "").upper()) + (
        "…" if argument.nargs == -1 else ""
    )
    return name if argument.required else f"[{name}]"


def _options(command: click.Command) -> Iterator[str]:
    rows = [
        f"| {_spelling(one)} | {(one.help or '').replace('|', chr(92) + '|')}{_default(one)} |"
        for one in command.params
        if isinstance(one, click.Option) and not one.hidden
    ]
    if rows:
        yield "| option | |\n|---|---|\n" + "\n".join(rows)


def _spelling(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in option.opts)
    if option.is_flag or option.count:
        return names
    if isinstance(option.type, click.Choice):
        value = "|".join(map(str, option.type.choices))
    else:
        value = option.metavar or (
            "N" if isinstance(option.type, click.IntRange) else option.type.name.upper()
        )
    return f"{names} `{value}`".replace("|", "\\|")


def _default(option: click.Option) -> str:
    shown = option.default if isinstance(option.default, str | int) and not option.is_flag else ""
    return f" Default: `{shown}`." if shown not in ("", None) else ""
