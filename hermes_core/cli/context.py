"""What commands share: the home, the settings and the table of plugins, made when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import msgspec

from hermes_core.config import Config, load_config, process_environment
from hermes_core.discovery import Discovery, Found
from hermes_core.paths import resolve_paths
from hermes_plugins._config import Section
from hermes_plugins._errors import HermesError, UsageError
from hermes_plugins._host import Paths


def paths_of(ctx: click.Context) -> Paths:
    """The home that this call works on."""
    return resolve_paths(
        process_environment(), profile=(ctx.find_root().obj or {}).get("profile", "")
    )


def working_folder() -> Path:
    """Where the call was made.

    Raises:
        UsageError: the folder is gone or cannot be read.
    """
    try:
        return Path.cwd()
    except OSError as error:
        raise UsageError(
            "the current folder is gone.", hint="`cd` somewhere else first."
        ) from error


def config_of(ctx: click.Context, overrides: Mapping[str, object] | None = None) -> Config:
    """The settings of this call."""
    return load_config(
        paths_of(ctx),
        cwd=working_folder(),
        environ=process_environment(),
        overrides=overrides or {},
    )


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """What the installed plugins declare about settings."""

    env: frozenset[str]
    schemas: Mapping[str, type[Section]]


def declared(ctx: click.Context) -> Declared:
    """Load every plugin that is on, and return the names and sections that they declare."""
    import asyncio

    from hermes_core.hookspecs import HONOURED
    from hermes_core.runtime import open_runtime

    async def collect() -> Declared:
        runtime = await open_runtime(
            paths_of(ctx), environ=process_environment(), cwd=working_folder()
        )
        host = runtime.host
        try:
            for group in HONOURED:
                await host.load(group, host.names(group))
        finally:
            await runtime.close()
        profiles = [one for loaded in host.loaded.values() for one in loaded.providers]
        sections = [one for loaded in host.loaded.values() for one in loaded.config]
        names = [name for one in profiles for name in (*one.env, one.base_url_env) if name]
        return Declared(
            env=frozenset(
                [
                    *names,
                    *(name for one in sections for name in one.env),
                    *(n for one in runtime.config.settings.providers.values() for n in one.env),
                ]
            ),
            schemas={one.name: one.schema for one in sections},
        )

    return asyncio.run(collect())


def discovered(ctx: click.Context) -> Sequence[Found]:
    """Commands that plugins add; a home that cannot be read has none."""
    try:
        config = config_of(ctx)
        paths = paths_of(ctx)
    except HermesError:
        return ()
    folders = [paths.home / "plugins", *map(Path, config.settings.plugins.paths)]
    found = Discovery(cache_file=paths.cache / "found.json", folders=folders).find()
    off = set(config.settings.plugins.disabled)
    on = set(config.settings.plugins.enabled)
    return [
        one
        for one in found
        if one.group == "hermes.commands"
        and one.plugin not in off
        and (one.default or one.plugin in on)
    ]
