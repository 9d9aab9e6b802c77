"""What commands share: the home, the settings and the table of plugins, made when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from hermes_core.config import Config, load_config, process_environment, read_config
from hermes_core.paths import check_home, make_home, resolve_paths
from hermes_plugins._config import ConfigSection
from hermes_plugins._errors import HermesError, UsageError
from hermes_plugins._host import Paths

if TYPE_CHECKING:
    from hermes_core.discovery import Found


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


def some_folder(paths: Paths) -> Path:
    """The working directory; the home when that is gone."""
    try:
        return working_folder()
    except UsageError:
        return paths.home


def config_of(ctx: click.Context, overrides: Mapping[str, object] | None = None) -> Config:
    """The settings of this call."""
    return load_config(
        paths_of(ctx),
        cwd=working_folder(),
        environ=process_environment(),
        overrides=overrides or {},
    )


def seen_config(ctx: click.Context) -> Config:
    """As `config_of`, but what is wrong in a file counts as not set."""
    paths = paths_of(ctx)
    return read_config(paths, cwd=some_folder(paths), environ=process_environment())


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
    from concurrent.futures import ThreadPoolExecutor

    from hermes_core.clock import SystemClock
    from hermes_core.hookspecs import HONOURED
    from hermes_core.runtime import Runtime

    async def collect() -> Declared:
        paths, cwd = paths_of(ctx), working_folder()
        if check_home(paths):
            return Declared()
        make_home(paths)
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

    # In a thread, because a command may ask out of a loop of its own.
    with ThreadPoolExecutor(max_workers=1) as thread:
        try:
            return thread.submit(asyncio.run, collect()).result()
        except HermesError:
            return Declared()


def entry_points(ctx: click.Context) -> Sequence[Found]:
    """What is installed, as far as names go.

    Raises:
        HermesError: there is no home.
    """
    from hermes_core.discovery import Discovery

    paths = paths_of(ctx)
    places = seen_config(ctx).settings.plugins.paths
    folders = [paths.home / "plugins", *(Path(one).expanduser() for one in places)]
    return Discovery(cache_file=paths.cache / "found.json", folders=folders).find()


def discovered(ctx: click.Context) -> Sequence[Found]:
    """Commands that plugins add; without a home there are none.

    Settings that are broken count as not set, so that the command itself can say what is wrong.
    """
    from hermes_core.loaded import HostSettings
    from hermes_core.switches import switched_off

    try:
        plugins = seen_config(ctx).settings.plugins
        found = entry_points(ctx)
    except HermesError:
        return ()
    if not any(one.group == "hermes.commands" for one in found):
        return ()
    from hermes_core.collisions import refused

    settings = HostSettings(enabled=plugins.enabled, disabled=plugins.disabled)
    taken = refused(found, is_off=lambda one: bool(switched_off(one, settings)))
    return [
        one
        for one in found
        if one.group == "hermes.commands" and one not in taken and not switched_off(one, settings)
    ]
