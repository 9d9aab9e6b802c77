"""What commands share: the home, the settings and the table of plugins, made when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import msgspec

from hermes_core.collisions import refused
from hermes_core.config import Config, load_config, process_environment, read_config
from hermes_core.discovery import Discovery, Found
from hermes_core.loaded import HostSettings
from hermes_core.paths import check_home, resolve_paths
from hermes_core.switches import switched_off
from hermes_plugins._config import ConfigSection
from hermes_plugins._errors import HermesError, UsageError
from hermes_plugins._host import Paths


def paths_of(ctx: click.Context) -> Paths:
    """The home that this call works on; while the command is looked for, only the words tell it."""
    root = ctx.find_root()
    profile = (root.obj or root.params).get("profile", "")
    return resolve_paths(process_environment(), profile=profile)


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
    """What the installed plugins declare about settings, and the names in ``plugins.enabled`` that
    none of them goes by."""

    env: frozenset[str] = frozenset()
    sections: Mapping[str, ConfigSection] = {}
    missing: Sequence[str] = ()


def declared(ctx: click.Context) -> Declared:
    """Load every plugin that is on, and return the names and sections that they declare.

    Settings that are wrong count as not set, so that they can be seen and mended; in a home that
    cannot be used nothing is declared.
    """
    import asyncio

    from hermes_core.clock import SystemClock
    from hermes_core.hookspecs import HONOURED
    from hermes_core.runtime import Runtime

    async def collect() -> Declared:
        paths, cwd = paths_of(ctx), working_folder()
        if check_home(paths):
            return Declared()
        paths.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        config = read_config(paths, cwd=cwd, environ=process_environment())
        runtime = Runtime(config=config, paths=paths, clock=SystemClock(), cwd=cwd)
        host = runtime.host
        try:
            for group in HONOURED:
                await host.load(group, host.names(group))
        finally:
            await runtime.close()
        profiles = [one for loaded in host.loaded.values() for one in loaded.providers]
        sections = [one for loaded in host.loaded.values() for one in loaded.config]
        env = [name for one in profiles for name in (*one.env, one.base_url_env) if name]
        env += [name for one in sections for name in one.env]
        env += [name for one in config.settings.providers.values() for name in one.env]
        return Declared(
            env=frozenset(env),
            sections={one.name: one for one in sections},
            missing=host.missing,
        )

    try:
        return asyncio.run(collect())
    except HermesError:
        return Declared()


def discovered(ctx: click.Context) -> Sequence[Found]:
    """Commands that plugins add; a home that cannot be found has none.

    Settings that are wrong count as not set: a backup is needed most where they are broken.
    """
    try:
        paths = paths_of(ctx)
        config = read_config(paths, cwd=working_folder(), environ=process_environment())
    except HermesError:
        return ()
    plugins = config.settings.plugins
    folders = [paths.home / "plugins", *(Path(one).expanduser() for one in plugins.paths)]
    found = Discovery(cache_file=paths.cache / "found.json", folders=folders).find()
    settings = HostSettings(enabled=plugins.enabled, disabled=plugins.disabled)
    taken = refused(found, is_off=lambda one: bool(switched_off(one, settings)))
    return [
        one
        for one in found
        if one.group == "hermes.commands" and one not in taken and not switched_off(one, settings)
    ]
