"""Writing a plugin to start from: the kit's template with the author's name in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from hermes_plugins import UsageError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
# Keys of the section `plugins` itself, so no plugin can have its settings under them.
_TAKEN: Final = frozenset({"enabled", "disabled", "required", "paths", "sections"})


class _Kind(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between the kinds, besides the files in the template's folder of that name."""

    group: str
    summary: str
    about: str
    needs: str = ""
    target: str = "{{module}}"


_KINDS: Final[Mapping[str, _Kind]] = {
    "tools": _Kind(
        group="hermes.tools",
        summary="Tools for Hermes",
        about="The tool set is on in every session once the plugin is enabled.",
    ),
    "provider": _Kind(
        group="hermes.providers",
        summary="A model provider for Hermes",
        about="`hermes chat --provider {{name}}` uses it; the key comes from {{CONSTANT}}_API_KEY.",
        needs=', "hermes-plugin-chat-completions>=0.1"',
    ),
    "platform": _Kind(
        group="hermes.platforms",
        summary="A chat platform for Hermes",
        about="`hermes config set platforms.{{name}}.enabled true` and `hermes gateway run` start it; "
        "`platforms.{{name}}.allow` names who may talk to the agent. Settings: "
        "`plugins.{{name}}.host` and `plugins.{{name}}.port`.",
    ),
    "memory": _Kind(
        group="hermes.memory",
        summary="A memory backend for Hermes",
        about="`hermes config set memory.backend {{name}}` makes it the one that is used.",
    ),
    "policy": _Kind(
        group="hermes.policies",
        summary="A policy for Hermes: judges tool calls before they run",
        about="Settings: `plugins.{{name}}.words`. While it is enabled, no agent starts without it.",
    ),
    "lifecycle": _Kind(
        group="hermes.lifecycle",
        summary="Watches and changes what Hermes does",
        about="Settings: `plugins.{{name}}.reminder`.",
    ),
    "command": _Kind(
        group="hermes.commands",
        summary="The command `hermes {{name}}`",
        about="`hermes {{name}} --help` explains it.",
        target="{{module}}.command:command",
    ),
}

KINDS: Final = tuple(_KINDS)


def write_plugin(name: str, kind: str, folder: Path) -> Path:
    """Write a distribution ``hermes-plugin-NAME`` into ``folder`` and return where it is.

    Raises:
        UsageError: the name or the kind is none, or the folder is there already or cannot be made.
    """
    chosen = _KINDS.get(kind)
    if chosen is None:
        raise UsageError(f"there is no kind {kind!r}.", hint=f"Choose from {', '.join(KINDS)}.")
    _check_name(name)
    place = folder / f"hermes-plugin-{name}"
    words = _words(name, chosen)
    try:
        if place.exists() or place.is_symlink():
            raise UsageError(f"{place} is there already.", hint="Choose another name or --folder.")
        for path, text in _files(words["module"], name, kind).items():
            file = place / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_filled(text, words), encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"{place} cannot be written: {error.strerror or error}.") from error
    return place


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or len(name) > 40:
        short = name.lower().removeprefix("hermes-plugin-").replace("_", "-")
        guess = f" `hermes plugins new {short}` would do." if _NAME.fullmatch(short) else ""
        raise UsageError(
            f"{name!r} is no plugin name.",
            hint=f"Use up to 40 of a-z, 0-9 and -, beginning with a letter.{guess}",
        )
    if name.startswith("hermes-plugin-"):
        short = name.removeprefix("hermes-plugin-")
        raise UsageError(
            f"{name} has the prefix already.", hint=f"`hermes plugins new {short}` adds it."
        )
    if name in _TAKEN:
        raise UsageError(f"{name} is a setting of its own in hermes.yaml; choose another name.")


def _words(name: str, kind: _Kind) -> dict[str, str]:
    ident = name.replace("-", "_")
    return {
        "name": name,
        "ident": ident,
        "module": f"hermes_plugin_{ident}",
        "CONSTANT": ident.upper(),
        "group": kind.group,
        "summary": kind.summary,
        "about": kind.about,
        "needs": kind.needs,
        "target": kind.target,
    }


def _files(module: str, name: str, kind: str) -> dict[str, str]:
    """Path in the distribution -> the template's text."""
    from importlib.resources import files

    template = files("hermes_plugins") / "template"
    found = {
        file.name.removesuffix(".tmpl").replace("gitignore", ".gitignore"): file.read_text("utf-8")
        for file in _templates(template / "shared")
    }
    for file in _templates(template / kind):
        part = file.name.removesuffix(".tmpl")
        ident = name.replace("-", "_")
        path = f"tests/test_{ident}.py" if part == "test.py" else f"{module}/{part}"
        found[path] = file.read_text("utf-8")
    found[f"{module}/py.typed"] = ""
    return found


def _templates(folder: Traversable) -> list[Traversable]:
    return [entry for entry in folder.iterdir() if entry.name.endswith(".tmpl")]


def _filled(text: str, words: Mapping[str, str]) -> str:
    """The text with every ``{{word}}`` replaced; a replacement may hold further ones."""
    for word in ("about", "summary", "target", *words):
        text = text.replace("{{" + word + "}}", words[word])
    return text
