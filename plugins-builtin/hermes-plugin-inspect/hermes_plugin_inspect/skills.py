"""Skill packs: folders with a SKILL.md, by what their front matter says. Nothing of them is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import msgspec

from hermes_plugins import CommandHost, UsageError

_LONGEST: Final = 100_000
"""Characters of a SKILL.md that are looked at."""
_PATTERNS: Final = ("*/SKILL.md", "*/*/SKILL.md")
_NOT_YET: Final = "Hermes does not load skills by itself yet; the choice is kept for when it does."


class Pack(msgspec.Struct, frozen=True, kw_only=True):
    """A skill pack; ``problem`` is why it could not be used."""

    name: str
    description: str
    file: str
    on: bool = False
    problem: str = ""


def find(host: CommandHost) -> list[Pack]:
    """The packs of the home and of ``skills.dirs``, by name; directly in there or in a category.

    Raises:
        UsageError: the settings are broken.
    """
    more = host.settings.get("skills.dirs").value
    folders = [host.paths.skills]
    folders += [host.paths.home / Path(str(one)).expanduser() for one in _names(more)]
    on = _names(host.settings.get("skills.names").value)
    files = {file for folder in folders for pattern in _PATTERNS for file in folder.glob(pattern)}
    return sorted((_read(file, on) for file in sorted(files)), key=lambda one: one.name)


def _names(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list | tuple) else []


def _read(file: Path, on: Sequence[str]) -> Pack:
    folder = file.parent.name
    try:
        with file.open(encoding="utf-8-sig", errors="replace") as stream:
            text = stream.read(_LONGEST)
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        return Pack(name=folder, description="", file=str(file), problem=problem)
    front, problem = _front_matter(text)
    name = " ".join(str(front.get("name") or folder).split())
    description = " ".join(str(front.get("description") or "").split())
    if not problem and not description:
        problem = "its front matter has no description"
    return Pack(name=name, description=description, file=str(file), on=name in on, problem=problem)


def _front_matter(text: str) -> tuple[dict[str, object], str]:
    """What stands between the first two lines of ``---``, and what is wrong with it."""
    import yaml

    first, _, rest = text.partition("\n")
    if first.strip() != "---" or "\n---" not in rest:
        return {}, "it does not begin with front matter between two lines of ---"
    try:
        found = yaml.safe_load(rest.partition("\n---")[0])
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}, "its front matter is no YAML"
    return (found, "") if isinstance(found, dict) else ({}, "its front matter has no keys")


def lines(host: CommandHost, packs: Sequence[Pack]) -> Iterator[str]:
    """The list for a person."""
    if not packs:
        yield f"No skills yet. A skill is a folder with a SKILL.md, put into {host.paths.skills}."
        return
    width = min(30, max(len(one.name) for one in packs))
    for one in packs:
        said = (
            one.description if len(one.description) <= 100 else f"{one.description[:99].rstrip()}…"
        )
        yield f"  [{'x' if one.on else ' '}] {one.name:<{width}}  {said}".rstrip()
        if one.problem:
            yield f"      {'':<{width}}  {one.problem} ({one.file})"
    yield _NOT_YET
    yield f"To use one now, say to the agent: follow {packs[0].file}"


def as_data(packs: Sequence[Pack]) -> str:
    """The list as JSON; ``loaded_by_hermes`` is False while there is no engine for them."""
    whole = {"v": 1, "loaded_by_hermes": False, "skills": packs}
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode()


def switch(host: CommandHost, name: str, *, on: bool) -> str:
    """Write ``skills.names``; returns what was done.

    Raises:
        UsageError: there is no such skill, or the file cannot be written.
    """
    listed = _names(host.settings.get("skills.names").value)
    known = [one.name for one in find(host)]
    if name not in known and (on or name not in listed):
        close = get_close_matches(name, known, n=1, cutoff=0.6)
        hint = f"Did you mean {close[0]}?" if close else f"They are folders in {host.paths.skills}."
        raise UsageError(f"there is no skill {name!r}.", hint=hint)
    if (name in listed) == on:
        return f"{name} is {'in' if on else 'not in'} skills.names already."
    if on:
        host.settings.set("skills.names", [*listed, name])
        return f"{name} is in skills.names now. {_NOT_YET}"
    host.settings.set("skills.names", [one for one in listed if one != name])
    return f"{name} is out of skills.names now."
