"""Values that Tab offers for options and arguments: what is known without importing a plugin.

Each function is a ``shell_complete`` of click. What costs an import is imported on use, since every
command module names its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    import msgspec
    from click.shell_completion import CompletionItem

    from hermes_plugins._providers import ProviderProfile

SESSIONS: Final = 50
"""The newest ones are offered; who wants an older one knows its name, or searches."""


def items(rows: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem[str]]:
    """The rows (value, help) that begin as the word does, each once."""
    from click.shell_completion import CompletionItem

    return [
        CompletionItem(value, help=text or None)
        for value, text in dict(rows).items()
        if value.startswith(incomplete)
    ]


def sessions(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Ids of the newest sessions, with their titles; and titles of one word."""
    from hermes_core.agent.cleaning import clean_output
    from hermes_core.cli.context import paths_of
    from hermes_core.store.database import connect
    from hermes_core.store.sessions import recent

    file = paths_of(ctx).home / "state.db"
    if not file.is_file():
        return []
    connection = connect(file)
    try:
        found = recent(connection, SESSIONS, None)
    finally:
        connection.close()
    rows = [(one.id, " ".join(clean_output(one.title).split())) for one in found]
    rows += [(title, session) for session, title in rows if incomplete and title.isalnum()]
    return items(rows, incomplete)


def models(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """``PROVIDER/MODEL`` of every model that providers or the settings name."""
    from hermes_core.cli.context import config_of

    config = config_of(ctx).settings
    rows = [
        (f"{one.id}/{name}", one.name)
        for one in _profiles(ctx)
        for name in (one.default_model, *(model.id for model in one.models))
        if name
    ]
    rows += [
        (f"{name}/{model}", "") for name, one in config.providers.items() for model in one.models
    ]
    return items(rows, incomplete)


def providers(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Ids of providers, with the settings' own."""
    from hermes_core.cli.context import config_of

    rows = [(one.id, one.name) for one in _profiles(ctx)]
    return items([*rows, *((name, "") for name in config_of(ctx).settings.providers)], incomplete)


def profiles(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Homes beside the default one."""
    from hermes_core.config import process_environment
    from hermes_core.paths import resolve_paths

    place = resolve_paths(process_environment(), profile="default").home / "profiles"
    names = sorted(one.name for one in place.iterdir() if one.is_dir()) if place.is_dir() else []
    return items(((name, "") for name in ("default", *names)), incomplete)


def plugins(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Plugins that are installed."""
    from hermes_core.cli.context import entry_points

    return items(((one.plugin, "") for one in entry_points(ctx)), incomplete)


def toolsets(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Toolsets, the last of a list with commas."""
    from hermes_core.cli.context import config_of, entry_points

    names = [one.name for one in entry_points(ctx) if one.group == "hermes.tools"]
    names += config_of(ctx).settings.toolsets.sets
    before = incomplete[: incomplete.rfind(",") + 1]
    return items(((before + name, "") for name in names), incomplete)


def settings(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Keys of hermes.yaml, without those of plugins."""
    from hermes_core.config_schema import Settings

    return items(_keys(Settings, ""), incomplete)


def _keys(schema: type[msgspec.Struct], section: str) -> Iterator[tuple[str, str]]:
    from hermes_core.config_tree import fields_of, is_struct, kind_of

    for field in fields_of(schema).values():
        kind = kind_of(field.hint)
        if is_struct(kind):
            yield from _keys(kind, f"{section}{field.name}.")
        elif not field.rest:
            yield f"{section}{field.name}", field.description


def _profiles(ctx: click.Context) -> Iterable[ProviderProfile]:
    from hermes_core.cli.context import paths_of
    from hermes_core.declarations import Declarations

    return Declarations(Path(paths_of(ctx).cache) / "declared.json").profiles()
