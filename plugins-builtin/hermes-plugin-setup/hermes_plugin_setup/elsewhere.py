"""The home of Hermes Agent, another program: which of its keys and which model can be taken over.

Its home is ``~/.hermes`` with ``config.yaml`` and ``.env`` (its documentation, version 0.19). There
``model`` is a name, or a section with ``default`` (or ``model``), ``provider`` and ``base_url``. Only
these are read: its other settings, sessions, memories and skills mean something else here, or are not
ours to move.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from hermes_plugins import CommandHost, Json, ProviderProfile

from .changes import CUSTOM, switched
from .surroundings import Surroundings

_ROUTERS = ("openrouter",)
"""Where a model of that program goes without a provider; it asks this one first."""


class Inheritance(msgspec.Struct, frozen=True, kw_only=True):
    """What there is in the other home. ``model`` is a line for the person, "" for none that fits."""

    folder: Path
    keys: tuple[str, ...]
    """Variables that an installed provider knows and this home has not."""
    unknown: tuple[str, ...]
    model: str
    values: dict[str, Json]
    left: tuple[str, ...]
    """What is not taken, and why: a line each."""


def find(host: CommandHost, around: Surroundings) -> Inheritance | None:
    """What can be taken over; None where there is no such home, or nothing in it that is new."""
    for folder in dict.fromkeys((Path.home() / ".hermes", host.root)):
        if (folder / "config.yaml").is_file():
            found = _read(host, around, folder)
            if found.values:
                return found
    return None


def _read(host: CommandHost, around: Surroundings, folder: Path) -> Inheritance:
    variables = host.settings.variables(folder / ".env")
    profiles = [one.profile for one in around.providers]
    known = {name for one in profiles for name in (*one.env, one.base_url_env) if name}
    known |= {q.key for one in around.sections for q in one.questions if q.key.isupper()}
    keys = tuple(
        name
        for name, value in variables.items()
        if name in known and value.strip() and not host.settings.holds(name)
    )
    unknown = tuple(
        name for name, value in variables.items() if name not in known and value.strip()
    )
    values: dict[str, Json] = {name: variables[name] for name in keys}
    held = {*keys, *(name for name in known if host.settings.holds(name))}
    left: list[str] = []
    label = ""
    settings = _settings(folder / "config.yaml")
    if settings is None:
        left.append("its config.yaml cannot be read")
    else:
        section = settings.get("model")
        choice = _model(section, profiles, held)
        if choice is not None:
            label, model = choice
            provider, _, name = label.partition("/")
            values |= switched(host.settings, provider, name, base_url=model)
        elif wanted := _named(section):
            left.append(f"its model {wanted}: no installed provider has it, or the key is missing")
        others = [name for name in settings if name != "model" and not name.startswith("_")]
        if others:
            left.append(f"other settings of its config.yaml ({_some(others)})")
    if unknown:
        left.append(f"variables that nothing installed knows ({_some(unknown)})")
    left.append("its sessions, memories and skills: they stay where they are")
    return Inheritance(
        folder=folder, keys=keys, unknown=unknown, model=label, values=values, left=tuple(left)
    )


def _settings(file: Path) -> Mapping[str, object] | None:
    import yaml

    try:
        read = yaml.safe_load(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, yaml.YAMLError):
        return None
    return {str(name): value for name, value in read.items()} if isinstance(read, dict) else None


def _named(section: object) -> str:
    if isinstance(section, dict):
        section = section.get("default") or section.get("model")
    return section.strip() if isinstance(section, str) else ""


def _model(
    section: object, profiles: Sequence[ProviderProfile], held: set[str]
) -> tuple[str, str] | None:
    """``provider/model`` as we write it, and the address where that is one of the person's own."""
    name = _named(section)
    if not name:
        return None
    parts = section if isinstance(section, dict) else {}
    provider = str(parts.get("provider") or "auto").strip()
    url = str(parts.get("base_url") or "").strip().rstrip("/")
    by_id = {label: one for one in profiles for label in (one.id, *one.aliases)}
    by_host = {host: one for one in profiles for host in one.hosts}
    if provider not in ("auto", CUSTOM):
        profile = by_id.get(provider)
        if profile is None:
            return None
    else:
        profile = by_host.get(_host(url))
    if profile is not None and profile.local and url and _host(url) != _host(profile.base_url):
        profile = None  # that server stands on another machine
    if profile is None and provider == "auto" and not url:
        profile = next((by_id[one] for one in _ROUTERS if one in by_id), None)
    if profile is not None:
        usable = not profile.key_required or held.intersection(profile.env)
        return (f"{profile.id}/{name.removeprefix(f'{profile.id}/')}", "") if usable else None
    if url and CUSTOM in by_id:
        return f"{CUSTOM}/{name}", url
    return None


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _some(names: Sequence[str]) -> str:
    listed = ", ".join(names[:4])
    return f"{listed} and {len(names) - 4} more" if len(names) > 4 else listed
