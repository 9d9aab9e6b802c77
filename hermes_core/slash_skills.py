"""``/skills``: which SKILL.md packs there are. Reading them is left to the model's own file tool."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

MOST: Final = 200
"""Packs that are listed."""
_LONGEST: Final = 100_000
"""Characters of a SKILL.md that are looked at (the format's own limit)."""
_PATTERNS: Final = ("*/SKILL.md", "*/*/SKILL.md")


class Pack(msgspec.Struct, frozen=True, kw_only=True):
    """A skill as its front matter describes it."""

    name: str
    description: str
    file: Path


def find_packs(folders: Sequence[Path]) -> list[Pack]:
    """The packs in the folders, directly or in a folder of a category, by name."""
    files = {file for folder in folders for pattern in _PATTERNS for file in folder.glob(pattern)}
    return sorted(map(_pack, sorted(files)[:MOST]), key=lambda one: one.name)


def describe(packs: Sequence[Pack], folder: Path) -> str:
    """The list, and how one is used today."""
    if not packs:
        return f"No skills yet. A skill is a folder with a SKILL.md, put into {folder}."
    width = min(24, max(len(one.name) for one in packs))
    lines = [f"{one.name:<{width}}  {one.description}" for one in packs]
    how = "Hermes does not pick skills by itself yet. To use one, say for example:"
    return "\n".join([*lines, "", how, f"  Follow {packs[0].file}"])


def _pack(file: Path) -> Pack:
    """What the front matter says; a file without one is called after its folder."""
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            text = opened.read(_LONGEST)
    except OSError as error:
        said = f"(cannot be read: {error.strerror})"
        return Pack(name=file.parent.name, description=said, file=file)
    front = _front_matter(text, str(file))
    name = " ".join(front.get("name", "").split()) or file.parent.name
    description = " ".join(front.get("description", "").split()) or "(no description)"
    return Pack(name=name, description=_cut(description), file=file)


def _front_matter(text: str, file: str) -> dict[str, str]:
    """Name and description between the first two ``---`` lines; {} where they cannot be read."""
    from hermes_core.config_yaml import read_yaml

    begin, _, rest = text.lstrip("\ufeff").partition("\n")
    if begin.strip() != "---":
        return {}
    tree = read_yaml(rest.partition("\n---")[0], layer="skill", file=file, found=[])
    if tree is None or not isinstance(tree.value, dict):
        return {}
    found = {key: tree.value[key].value for key in ("name", "description") if key in tree.value}
    return {key: value for key, value in found.items() if isinstance(value, str)}


def _cut(text: str) -> str:
    return f"{text[:160].rstrip()}…" if len(text) > 160 else text
