"""docs/reference/providers.md: every provider of this repository, from its profile."""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Iterator
from pathlib import Path

from hermes_plugins import ProviderProfile

ROOT = Path(__file__).resolve().parent.parent.parent

HEAD = """\
# Providers

One line for each provider of this repository, made from the profiles. `pip install` the plugin (or
`hermes-host[vendors]` for all), set the key with `hermes config set VARIABLE`, and name a model as
`PROVIDER/MODEL`. The address can be changed with the second variable or `providers.NAME.base_url`.

| provider | plugin | key | address | address from | wire format |
|---|---|---|---|---|---|
"""


def page() -> str:
    """The text of the page."""
    return HEAD + "".join(_row(plugin, profile) for plugin, profile in sorted(_profiles(), key=_id))


def _id(found: tuple[str, ProviderProfile]) -> str:
    return found[1].id


def _profiles() -> Iterator[tuple[str, ProviderProfile]]:
    for file in sorted(ROOT.glob("plugins-builtin/*/pyproject.toml")):
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        points = project["entry-points"].get("hermes.providers", {})
        for module in dict.fromkeys(points.values()):
            for profile in importlib.import_module(module).hermes_register_providers():
                yield project["name"].removeprefix("hermes-plugin-"), profile


def _row(plugin: str, profile: ProviderProfile) -> str:
    names = ", ".join(f"`{name}`" for name in (profile.id, *profile.aliases))
    key = ", ".join(f"`{name}`" for name in profile.env) or "none"
    dialects = dict.fromkeys([profile.dialect, *profile.dialect_by_model.values()])
    cells = [
        names,
        f"`{plugin}`",
        key,
        f"`{profile.base_url}`" if profile.base_url else "yours",
        f"`{profile.base_url_env}`" if profile.base_url_env else "",
        ", ".join(f"`{name}`" for name in dialects),
    ]
    return f"| {' | '.join(cells)} |\n"
